"""The rules of use for C programs: found by the machine alone, with symbol and address, and the source line if known."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import try_run

SOURCE = """
#include "acl/acl.h"
#include <stdio.h>

int main(int count, char **words) {
    void *p = NULL;
    aclInit(count > 1 ? words[1] : NULL);
    aclrtSetDevice(0);
    aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 3; i++) aclrtFree(p);
    aclCreateDataBuffer(NULL, 0);
    aclrtResetDevice(0);
    aclFinalize();
    puts("done");
    return 0;
}
"""
KEYS = ["code", "name", "severity", "function", "place", "message", "returned", "at", "made", "freed", "destroyed", "submitted",
        "right", "thread", "count"]  # fmt: skip


@pytest.fixture
def program(compile_c: Callable[..., Path]) -> Path:
    return compile_c(SOURCE, "-g", "-lascendcl", name="misuse")


def run_checked(program: Path, *options: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return try_run([sys.executable, "-m", "hostacl.cli.main", "run", *options, program, *arguments])


def documents(text: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(text)["reports"]
    return found


def test_reports_in_words(program: Path) -> None:
    done = run_checked(program, "--check")
    assert (done.returncode, done.stdout) == (0, "done\n")
    lines = done.stderr.splitlines()
    assert lines[0] == "hostacl: error HA204 memory already freed"
    assert lines[1].startswith("  aclrtFree(): devPtr = 0x")
    assert "\x1b" not in done.stderr
    assert lines[2].endswith(", returned 107000")
    assert lines[3] == "  right, for example: acl.rt.free(ptr); ptr = 0"
    assert "hostacl: leak HA902 data buffers left" in lines
    assert any(re.match(r"hostacl: HA204 at .*: 2 times", line) for line in lines)
    assert lines[-1].startswith("hostacl: found 1 error, 1 leak")


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="no addr2line here")
def test_source_lines_of_a_program_with_debug_information(program: Path) -> None:
    text = run_checked(program, "--check").stderr
    assert re.search(r"made at misuse\.c:9 \([^)]*\+0x\w+\), freed at misuse\.c:10 \(", text)
    assert re.search(r"1 data buffer was never given back: made at misuse\.c:11 \(", text)
    assert re.search(r"^  at misuse\.c:10 \(", text, re.MULTILINE)


@pytest.mark.parametrize(("flags", "site"), [((), r"misuse\+0x\w+"), (("-rdynamic",), r"main\+0x\w+ \(misuse\)")])
def test_addresses_of_one_without(compile_c: Callable[..., Path], flags: tuple[str, ...], site: str) -> None:
    built = compile_c(SOURCE, *flags, "-lascendcl", name="misuse")
    assert re.search(f"made at {site}, freed at {site};", run_checked(built, "--check").stderr)


def test_functions_of_c_plus_plus_have_their_own_names(compile_c: Callable[..., Path]) -> None:
    source = SOURCE.replace("int main(int", """
        namespace net { struct Layer { template <class T> void run(T *p, void (*)(int)); }; }
        template <class T> void net::Layer::run(T *p, void (*)(int)) { aclrtFree(p); aclrtFree(p); }
        template void net::Layer::run<void>(void *, void (*)(int));
        int main(int""").replace("for (int i = 0; i < 3; i++) aclrtFree(p);", "net::Layer().run(p, nullptr);")
    built = compile_c(source, "-rdynamic", "-lascendcl", compiler="g++", name="misuse")
    text = run_checked(built, "--check").stderr
    assert re.search(r"freed at void net::Layer::run<void>\+0x\w+ \(misuse\);", text), text


def test_colour_on_a_terminal_only(program: Path) -> None:
    here, there = pty.openpty()
    command = [sys.executable, "-m", "hostacl.cli.main", "run", "--check", str(program)]
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    done = subprocess.run(command, stderr=there, stdout=subprocess.DEVNULL, env=env, timeout=120, check=False)
    assert done.returncode == 0
    assert b"\x1b[31merror HA204" in os.read(here, 1 << 16)
    os.close(here)
    os.close(there)


def test_reports_as_json_have_fixed_keys(program: Path, tmp_path: Path) -> None:
    done = run_checked(program, "--check", "--report", "json", "--report-file", str(tmp_path / "%p.json"))
    (file,) = tmp_path.glob("[0-9]*.json")
    assert json.loads(done.stderr) == json.loads(file.read_text())
    whole = json.loads(done.stderr)
    assert list(whole) == ["tool", "version", "process", "dropped", "reports"]
    assert (whole["tool"], whole["dropped"], str(whole["process"])) == ("hostacl", 0, file.stem)
    reports = documents(done.stderr)
    assert [(one["code"], one["count"]) for one in reports] == [("HA204", 2), ("HA902", 1)]
    for one in reports:
        assert list(one) == KEYS
    freed = reports[0]
    assert [freed[key] for key in ("name", "severity", "function", "place", "returned", "count")] == [
        "memory already freed", "error", "aclrtFree", "devPtr", 107000, 2,
    ]  # fmt: skip
    assert len(freed["made"]) == len(freed["freed"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        (("--check=HA2",), ["HA204"]), (("--check=HA902,HA3",), ["HA902"]), (("--check=HA201",), []),
        (("--check", "--ignore", "HA2"), ["HA902"]), (("--check", "--ignore=HA204,HA90"), []),
        (("--report", "json"), ["HA204", "HA902"]),
    ],
)  # fmt: skip
def test_codes_and_prefixes_choose(program: Path, options: tuple[str, ...], codes: list[str]) -> None:
    done = run_checked(program, "--report=json", *options)
    assert [one["code"] for one in documents(done.stderr)] == codes


def test_strict_is_told_by_the_exit_code(program: Path) -> None:
    assert run_checked(program, "--check").returncode == 0
    assert run_checked(program, "--check", "--strict").returncode == 1
    assert run_checked(program, "--check=HA3", "--strict").returncode == 0


def test_acl_json_turns_checks_on(program: Path, tmp_path: Path) -> None:
    settings = tmp_path / "acl.json"
    settings.write_text(json.dumps({"hostacl": {"check": "HA2", "report": "json"}}))
    done = try_run([sys.executable, "-m", "hostacl.cli.main", "run", program, settings])
    assert [one["code"] for one in documents(done.stderr)] == ["HA204"]
    settings.write_text(json.dumps({"hostacl": {"check": "freed"}}))
    assert "done" in try_run([sys.executable, "-m", "hostacl.cli.main", "run", program, settings]).stdout


def test_raise_stops_a_c_program_at_its_misuse(program: Path, c_env: dict[str, str]) -> None:
    done = try_run([program], env={**c_env, "HOSTACL_ON_MISUSE": "raise"})
    assert done.returncode == -signal.SIGABRT
    assert "HA204" in done.stderr
    assert "done" not in done.stdout


def test_raise_leaves_the_report_behind(program: Path, c_env: dict[str, str], tmp_path: Path) -> None:
    settings = {"HOSTACL_ON_MISUSE": "raise", "HOSTACL_REPORT": "text", "HOSTACL_REPORT_FILE": str(tmp_path / "report.json")}
    done = try_run([program], env={**c_env, **settings})
    assert (done.returncode, done.stderr.count("hostacl: error HA204")) == (-signal.SIGABRT, 1)
    assert [one["code"] for one in documents((tmp_path / "report.json").read_text())] == ["HA204"]


def test_json_of_names_that_are_no_text(compile_c: Callable[..., Path]) -> None:
    source = SOURCE.replace("aclCreateDataBuffer(NULL, 0);", r'''aclInit("/no/\xff\xed\xa0\x80\xc3\x28 \xc3\xa9 \"\n.json");''')
    done = run_checked(compile_c(source, "-lascendcl", name="odd"), "--report=json")
    assert "\ufffd\ufffd\ufffd\ufffd\ufffd( é \"\n.json" in str(documents(done.stderr)[1]["message"])


def test_off_and_the_default_are_quiet(program: Path, c_env: dict[str, str]) -> None:
    for setting in ({}, {"HOSTACL_CHECK": "all", "HOSTACL_REPORT": "text", "HOSTACL_ON_MISUSE": "off"}):
        done = try_run([program], env={**c_env, **setting})
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


RAW = """
#include "acl/acl.h"
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    unsigned char *device = NULL, *copy = NULL, host[64];
    size_t written = (size_t)(count > 1 ? atoi(words[1]) : 0);
    if (aclInit(NULL) || aclrtSetDevice(0) || aclrtMalloc((void **)&device, 64, ACL_MEM_MALLOC_HUGE_FIRST)) return 2;
    if (aclrtMalloc((void **)&copy, 64, ACL_MEM_MALLOC_HUGE_FIRST)) return 2;
    for (size_t at = 0; at < written; at++) device[at] = (unsigned char)(at * at);
    if (aclrtMemcpy(copy, 64, device, 64, ACL_MEMCPY_DEVICE_TO_DEVICE)) return 2;
    if (aclrtMemcpy(host, 64, copy, 64, ACL_MEMCPY_DEVICE_TO_HOST)) return 2;
    return memcmp(host, device, 64) || aclrtFree(device) || aclrtFree(copy) || aclFinalize();
}
"""


@pytest.mark.parametrize(("written", "unread"), [(0, "bytes 0 to 63"), (20, "bytes 20 to 63"), (64, "")])
def test_writes_through_the_pointer_count(compile_c: Callable[..., Path], written: int, unread: str) -> None:
    """A C program can write device memory itself, which no call sees; what it left out is still reported."""
    done = run_checked(compile_c(RAW, "-lascendcl", name="raw"), "--check", "--report=json", arguments=(str(written),))
    assert done.returncode == 0, done.stderr
    found = [(one["code"], one["place"], str(one["message"])) for one in documents(done.stderr)]
    assert [(code, place) for code, place, _ in found] == [("HA217", "src")] * bool(unread)
    assert all(f"{unread} of device memory" in message for *_, message in found)


@pytest.mark.parametrize("option", ["--check=HA2O4", "--check=HA299", "--check=HA204,", "--ignore=HA", "--ignore=freed"])
def test_a_mistyped_rule_is_no_unchecked_run(program: Path, option: str) -> None:
    done = run_checked(program, "--strict", option)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is no rule" in done.stderr


SIGNALLED = """
#include "acl/acl.h"
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile sig_atomic_t came = 0;
static void handler(int number) { came = number; }

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    aclrtStream stream;
    aclrtEvent event;
    if (aclInit(NULL) || aclrtSetDevice(0) || aclrtCreateStream(&stream) || aclrtCreateEvent(&event)) return 2;
    if (aclrtStreamWaitEvent(stream, event) || sigaction(SIGALRM, &action, NULL)) return 2;
    if (setitimer(ITIMER_REAL, &soon, NULL)) return 2;
    int code = aclrtSynchronizeStreamWithTimeout(stream, 200);
    printf("%d %d\\n", code, came == SIGALRM);
    return 0;
}
"""


def test_a_signal_ends_no_wait_of_a_c_program(compile_c: Callable[..., Path], c_env: dict[str, str]) -> None:
    """HA311 is of Python, whose handlers raise exceptions; C's run beside the wait."""
    done = try_run([compile_c(SIGNALLED, "-D_GNU_SOURCE", "-lascendcl", name="signalled")], env=c_env)
    assert (done.returncode, done.stdout) == (0, "507046 1\n"), done.stderr
