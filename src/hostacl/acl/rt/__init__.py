"""acl.rt: devices, contexts, streams, events, callbacks and memory."""

from hostacl.acl.missing_rt import *  # noqa: F403
from hostacl.acl.rt.callback import *  # noqa: F403
from hostacl.acl.rt.context import *  # noqa: F403
from hostacl.acl.rt.copy import *  # noqa: F403
from hostacl.acl.rt.device import *  # noqa: F403
from hostacl.acl.rt.event import *  # noqa: F403
from hostacl.acl.rt.memory import *  # noqa: F403
from hostacl.acl.rt.stream import *  # noqa: F403
