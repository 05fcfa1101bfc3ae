"""Failures on demand: the next call of a function, or the nth operator, fails with a code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hostacl import _machine


@dataclass
class Injection:
    """A failure that waits to be met; ``met`` says whether it was, once the ``with`` block is over."""

    met: bool = False


@contextmanager
def inject(code: int, *, call: str | None = None, nth_operator: int | None = None) -> Iterator[Injection]:
    """Makes one call fail inside a ``with`` block: ``with inject(507008, call="acl.rt.set_device"): …``.

    ``call`` is a function by pyACL's or its C name: its next call does nothing and returns ``code``; a function that
    returns no code gives what it gives for a bad argument. ``nth_operator`` counts the operators handed to streams from
    here on (1 is the next): that one fails when it runs, as a kernel would, and a synchronize returns ``code``. The text
    says that the failure was injected (HA122). What was not met when the block ends is forgotten; ``met`` tells.

    ValueError for a code of 0, an ``nth_operator`` below 1, an unknown name, or when not exactly one of both is given.
    """
    number = _wait(code, call, nth_operator)
    injection = Injection()
    try:
        yield injection
    finally:
        injection.met = not _machine.forget_injection(number)


def _wait(code: int, call: str | None, nth_operator: int | None) -> int:
    """Hands the failure to the machine; its number."""
    if code == 0:
        raise ValueError("code = 0; allowed: a return code that says failure, such as 507035")
    if call is not None and nth_operator is None:
        number = _machine.inject_call(code, call)
        if not number:
            raise ValueError(
                f"call = {call!r}; allowed: a function of acl that returns through the machine (acl.rt.malloc), "
                "or a C function (aclrtMalloc)"
            )
        return number
    if nth_operator is None or call is not None:
        raise ValueError("inject: give either call or nth_operator")
    if nth_operator < 1:
        raise ValueError(f"nth_operator = {nth_operator}; allowed: 1 (the next operator) or more")
    return _machine.inject_operator(code, nth_operator)
