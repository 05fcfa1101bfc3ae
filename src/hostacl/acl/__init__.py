"""pyACL on the CPU: every name, argument form and return form of ``import acl``.

Handles, addresses and sizes are ints, lists are lists of ints, and a call that cannot go on returns an ``aclError`` code: 0 is
success, and ``get_recent_err_msg`` says what went wrong. The constants of the API (``ACL_FLOAT``, ``ACL_MEMCPY_HOST_TO_DEVICE``
...) are an extension.
"""

from hostacl.acl import blas as blas
from hostacl.acl import mdl as mdl
from hostacl.acl import media as media
from hostacl.acl import op as op
from hostacl.acl import rt as rt
from hostacl.acl import util as util
from hostacl.acl.base import *  # noqa: F403
from hostacl.acl.constants import *  # noqa: F403
from hostacl.acl.descriptors import *  # noqa: F403
from hostacl.acl.missing_base import *  # noqa: F403
from hostacl.status import *  # noqa: F403
