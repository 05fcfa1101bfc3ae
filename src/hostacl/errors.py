"""The exceptions of the house: what went wrong, with the rule it breaks. native/module turns them into return codes."""

from __future__ import annotations


class HostaclError(Exception):
    """Base of all errors of hostacl: a rule code such as ``HA503`` and a text.

    The text names argument, value given, what is allowed and what to do. It starts with the operator or argument, not with
    the function: the face puts its function's name in front.
    """

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule
        self.text = text


class Refused(HostaclError):  # noqa: N818 - it says what happened
    """An operator call that cannot be built: dtype, rank, attribute, shape. 500002 when compiled, no match when executed."""


class Failed(HostaclError):  # noqa: N818 - it says what happened
    """An operator that went wrong while it ran, as on a device: kept in the stream and returned by the next synchronize.

    ``code`` is 507035 for bad data seen by a device kernel (an index out of range), 507018 for a host-side operator,
    507015 otherwise.
    """

    def __init__(self, rule: str, text: str, code: int = 507035) -> None:
        super().__init__(rule, text)
        self.code = code


class AclError(HostaclError):
    """A call that is answered with a return code of its own, given in ``code``."""

    def __init__(self, code: int, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.code = code


class Misuse(HostaclError):  # noqa: N818 - it says what happened
    """A rule of use was broken in the call that raises it; only under ``on_misuse = raise``."""
