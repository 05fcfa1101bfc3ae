"""AscendCL for Python, run on the CPU by hostacl. When CANN's own ``acl`` is found first (PYTHONPATH), that one is used."""

from hostacl.acl import *  # noqa: F403
from hostacl.acl import blas as blas
from hostacl.acl import mdl as mdl
from hostacl.acl import media as media
from hostacl.acl import op as op
from hostacl.acl import rt as rt
from hostacl.acl import util as util
