"""One run of the fuzz, in a process of its own: python program.py SEED CALLS [NAME...]. The last line of the output is OK.

Each call gets arguments of the declared types, many of them wrong: handles of other kinds, dead ones, addresses of live,
freed and foreign memory, counts and numbers out of range, objects of other types. Each must end with a value or a
TypeError that names the function.
"""

from __future__ import annotations

import json
import mmap
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import acl
import hostacl
from hostacl import _machine

FACTS = json.loads((Path(__file__).resolve().parents[2] / "tools" / "facts" / "pyacl.json").read_text())
ENTRIES = {entry["name"]: entry for entry in FACTS["functions"]}
NAMES = [*ENTRIES, *(name for name in FACTS["also_used_by_samples"]["names"] if name not in ENTRIES)]
WAITS = {"acl.rt.process_report", "acl.rt.subscribe_report", "acl.util.start_thread", "acl.util.stop_thread"}
"""They wait for other threads: their own tests try them."""

NUMBERS = [
    0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 255, 256, 4096, -1, -2, -128, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63 - 1,
    -(2**63), 2**64 - 1, 2**64,
]  # fmt: skip
FLOATS = [0.0, 1.5, -1e30, float("inf"), float("nan")]
STRINGS = ["", "Add", "Cast", "axis", "NoSuchOp", "x", "é\u4e2d", "a" * 300, "/no/such/folder", "\0", "enable"]
STRANGE = [
    None, 1.5, "text", b"bytes", [], {}, object(), (1, 2), [None], True, float("nan"), np.int32(3), np.arange(3), range(3),
    lambda: 0,
]  # fmt: skip


class Fuzz:
    """Live, dead and foreign objects, and the choices among them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.live: list[int] = []
        self.dead: list[int] = []
        self.host = np.frombuffer(mmap.mmap(-1, 1 << 20), np.uint8)  # room for every count that is written there
        self.refill()

    def refill(self) -> None:
        """Makes the world of the next calls: a device, and some objects of each kind, alive and dead."""
        hostacl.reset()
        acl.init()
        acl.rt.set_device(0)
        attr = acl.op.create_attr()
        memory = acl.rt.malloc(64, 0)[0]
        makers: list[tuple[Callable[[], int], Callable[[int], object]]] = [
            (lambda: acl.create_tensor_desc(0, [2, 3], 2), acl.destroy_tensor_desc),
            (lambda: acl.create_tensor_desc(1, [], 2), acl.destroy_tensor_desc),
            (lambda: acl.create_data_buffer(memory, 64), acl.destroy_data_buffer),
            (acl.op.create_attr, acl.op.destroy_attr),
            (lambda: acl.rt.create_stream()[0], acl.rt.destroy_stream),
            (lambda: acl.rt.create_event()[0], acl.rt.destroy_event),
            (lambda: acl.rt.create_context(0)[0], acl.rt.destroy_context),
            (lambda: acl.rt.malloc(64, 0)[0], acl.rt.free),
            (lambda: acl.rt.malloc_host(64)[0], acl.rt.free_host),
        ]
        self.live, self.dead = [attr, memory], []
        for make, destroy in makers:
            self.live.append(make())
            gone = make()
            destroy(gone)
            self.dead.append(gone)
        acl.rt.set_device(0)

    def pointer(self) -> int:
        """An address or handle: alive, dead, null, beside one, of the host, or nothing at all."""
        any_of = self.random.choice(self.live + self.dead)
        return self.random.choice(
            [0, 0, any_of, any_of, any_of, any_of + 1, any_of + 64, any_of ^ (1 << self.random.randrange(63)),
             self.host.ctypes.data, self.host.ctypes.data, 1, 16, 0xDEADBEEF, 2**47, 2**63, 2**64 - 1,
             self.random.getrandbits(48), self.random.getrandbits(64)]
        )  # fmt: skip

    def number(self) -> int:
        return self.random.choice([*NUMBERS[:14], *NUMBERS, self.random.randrange(-10, 100)])

    def listed(self, one: Callable[[], Any]) -> list[Any]:
        return [one() for _ in range(self.random.choice([0, 1, 2, 2, 3, 9, 17]))]

    def argument(self, kind: str) -> Any:
        """A value of the declared type, or now and then of another."""
        if self.random.random() < 0.08:
            return self.random.choice(STRANGE)
        if kind.startswith("list[list"):
            return self.listed(lambda: [self.number() for _ in range(self.random.choice([2, 2, 2, 1, 3]))])
        if kind.startswith("list["):
            inner = kind[5:-1].split(maxsplit=1)[0]
            return self.listed(lambda: self.argument(inner))
        plain = kind.partition("(")[0].split(" or ")[0]
        choices: dict[str, Callable[[], Any]] = {
            "ptr": self.pointer, "int": self.number, "float": lambda: self.random.choice(FLOATS),
            "str": lambda: self.random.choice(STRINGS), "callable": lambda: print, "any": self.number, "dict": dict,
            "ndarray": lambda: self.random.choice([self.host, np.zeros(0), np.zeros((2, 3)).T, np.array("x")]),
            "bytes": lambda: self.random.choice([b"", b"x", b"bytes"]), "tuple": lambda: tuple(self.listed(self.number)),
        }  # fmt: skip
        return choices[plain]()

    def call(self, name: str) -> str:
        """One call; gives what was called when it raised what it must not."""
        function: Any = acl
        for part in name.split(".")[1:]:
            function = getattr(function, part)
        kinds = [arg["type"] for arg in ENTRIES[name]["args"]] if name in ENTRIES else ["ptr"] * self.random.randrange(4)
        given = [self.argument(kind) for kind in kinds]
        if self.random.random() < 0.05:
            given = given[:-1] if self.random.random() < 0.5 else [*given, 0]
        if "malloc" in name and given and isinstance(given[0], int) and 1 << 20 < given[0] < 1 << 40:
            given[0] = 64  # no gigabytes
        print(name, given, flush=True)
        try:
            result = function(*given)
        except TypeError as error:
            named = name.rpartition(".")[2] in str(error)
            return "" if named else f"{name}{tuple(given)} raised {error!r}, which does not name the function"
        except Exception as error:
            return f"{name}{tuple(given)} raised {type(error).__name__}: {error}"
        if name.rpartition(".")[2].startswith("create") or "malloc" in name:
            made = result[0] if isinstance(result, tuple) else result
            if isinstance(made, int) and made:
                self.live.append(made)
        return ""


def settled() -> dict[str, int]:
    """The live objects of a machine after reset: none."""
    hostacl.reset()
    return {kind: count for kind, count in _machine.live_objects().items() if count}


def main() -> int:
    """Calls until the count is reached; after each world nothing may be left alive."""
    warnings.simplefilter("ignore")
    seed, calls, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or [name for name in NAMES if name not in WAITS]
    fuzz = Fuzz(seed)
    for turn in range(calls):
        if turn % 200 == 199:
            if left := settled():
                print(f"left alive: {left}")
                return 1
            fuzz.refill()
        if wrong := fuzz.call(names[turn] if turn < len(names) else fuzz.random.choice(names)):  # each at least once
            print(wrong)
            return 1
    if left := settled():
        print(f"left alive: {left}")
        return 1
    acl.init()
    acl.rt.set_device(0)
    x, ret = acl.rt.malloc(64, 0)
    print("OK" if (ret, acl.rt.free(x), acl.finalize()) == (0, 0, 0) else "the machine does not work any more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
