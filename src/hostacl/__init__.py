"""hostacl: AscendCL's single-operator programs on an ordinary CPU."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from hostacl.toolkit_path import open_libraries as _open_libraries

if TYPE_CHECKING:
    from hostacl.singleop.custom import op as op
    from hostacl.switches import settings as settings

__version__: str

_LAZY = {"op": "hostacl.singleop.custom", "settings": "hostacl.switches", "__version__": "hostacl._machine"}
"""What the package offers and where it is; looked up when asked for, so that `import acl` stays cheap."""

_open_libraries()


def reset() -> None:
    """Makes the machine as it was when the process started: no device set, no model known, no message kept.

    Settings are read from the environment again, handles and addresses from before are dead. For notebooks and tests.
    """
    from hostacl import _machine

    _machine.reset()
    if library := sys.modules.get("hostacl.singleop.library"):
        library.forget(everything=True)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'hostacl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
