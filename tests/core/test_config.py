"""Settings: environment, acl.json, and at run time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import acl
from hostacl import _machine

from .conftest import messages, reported


def init_with(folder: Path, text: str) -> int:
    acl.finalize()
    path = folder / "acl.json"
    path.write_text(text)
    return int(acl.init(str(path)))


def python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **variables}, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "text", ["", "{}", "  \n", '{"dump": {"dump_path": "."}, "profiler": {}, "new": [1, -2.5e3, true, null, "\\u00e9"]}']
)
def test_files_that_are_fine(tmp_path: Path, text: str):
    assert init_with(tmp_path, text) == 0


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{'a': 1}", '{"a" 1}', '{"a": 1,}', '{"a": 1} x', '{"a": "b}', '{"a": nul}', "[" * 11 + "]" * 11,
     '{"a":' * 11 + "1" + "}" * 11],
)  # fmt: skip
def test_malformed_files_are_refused_with_a_line(tmp_path: Path, text: str):
    assert init_with(tmp_path, text) == 100006
    assert "HA104" in messages()


def test_ten_levels_are_allowed(tmp_path: Path):
    assert init_with(tmp_path, '{"a":' * 10 + "1" + "}" * 10) == 0


def test_the_line_of_a_fault_is_named(tmp_path: Path):
    assert init_with(tmp_path, '{\n"a": 1,\n"b": oh\n}') == 100006
    assert "line 3" in messages()


def test_a_missing_file():
    acl.finalize()
    assert acl.init("/nowhere/acl.json") == 100003
    assert "/nowhere/acl.json" in messages()
    assert acl.init("") == 0


@pytest.mark.parametrize("value", ["ten", "0", "-5", "", "1x"])
def test_max_opqueue_num_must_be_a_number(tmp_path: Path, value: str):
    assert init_with(tmp_path, json.dumps({"max_opqueue_num": value})) == 148048
    assert acl.init() == 0


def test_settings_of_a_file_last_until_finalize(tmp_path: Path):
    text = json.dumps({"max_opqueue_num": "50", "err_msg_mode": "1", "hostacl": {"fill": "7", "unknown": "x"}})
    assert init_with(tmp_path, text) == 0
    assert _machine.setting("max_opqueue_num") == "50"
    assert _machine.setting("fill") == "7"
    acl.finalize()
    assert _machine.setting("max_opqueue_num") == "20000"


def test_another_configuration_for_a_second_init_is_ignored(tmp_path: Path):
    path = tmp_path / "other.json"
    path.write_text('{"max_opqueue_num": "7"}')
    assert acl.init(str(path)) == 100002
    assert "HA115" in reported()
    assert _machine.setting("max_opqueue_num") == "20000"


@pytest.mark.parametrize(
    ("name", "value"),
    [("scheduler", "lazy"), ("scheduler", "shuffled:"), ("devices", "0"), ("fill", "256"), ("soc", "Pentium"), ("cann", "nine"),
     ("device_memory", "much"), ("strict", "yes"), ("colour", "red")],
)  # fmt: skip
def test_values_that_are_not_allowed(name: str, value: str):
    before = _machine.setting(name)
    assert _machine.configure(name, value) == 100000
    assert "allowed" in messages()
    assert _machine.setting(name) == before


def test_the_environment_sets_and_bad_values_are_told_once():
    done = python(
        "from hostacl._machine import setting as s; print(s('scheduler'), s('devices'), s('fill'), s('device_memory'))",
        HOSTACL_SCHEDULER="shuffled:12", HOSTACL_DEVICES="3", HOSTACL_FILL="blue", HOSTACL_DEVICE_MEMORY="1G",
    )  # fmt: skip
    assert done.stdout.split() == ["shuffled:12", "3", "none", str(1 << 30)]
    assert done.stderr.count("HOSTACL_FILL") == 1
    assert "0xCD" in done.stderr


def test_visible_devices_are_counted_anew():
    done = python(
        "from acl import rt\n"
        "print(rt.get_device_count(), rt.set_device(1), rt.set_device(2), rt.get_logic_dev_id_by_user_dev_id(1))",
        HOSTACL_DEVICES="8", ASCEND_RT_VISIBLE_DEVICES="5,2",
    )  # fmt: skip
    assert done.stdout.strip() == "(2, 0) 0 107001 (2, 0)"


@pytest.mark.parametrize(
    ("visible", "count", "told"),
    [("5", 4, "is ignored"), ("-1", 4, "is ignored"), ("a", 4, "is ignored"), ("2,0,9", 2, "shows 2 devices"), ("3,1", 2, "")],
)
def test_visible_devices_that_are_not_there_are_told(visible: str, count: int, told: str):
    done = python("from acl import rt; print(rt.get_device_count())", HOSTACL_DEVICES="4", ASCEND_RT_VISIBLE_DEVICES=visible)
    assert done.stdout.strip() == f"({count}, 0)"
    assert told in done.stderr
    assert bool(told) == ("no device; allowed: 0 to 3" in done.stderr)


def test_the_log_goes_where_the_variables_say(tmp_path: Path):
    done = python(
        "import acl; acl.init(); acl.rt.free(1); acl.finalize()",
        ASCEND_GLOBAL_LOG_LEVEL="1", ASCEND_PROCESS_LOG_PATH=str(tmp_path), ASCEND_SLOG_PRINT_TO_STDOUT="1",
    )  # fmt: skip
    (file,) = tmp_path.iterdir()
    assert "[INFO] HOSTACL(" in done.stdout
    assert "HA207" in done.stdout
    assert "HA207" in file.read_text()
    assert python("import acl; acl.init(); acl.rt.free(1)", ASCEND_GLOBAL_LOG_LEVEL="0").stdout == ""


def test_versions_follow_the_setting():
    assert _machine.configure("cann", "8.0.RC3") == 0
    assert acl.get_version_str("runtime") == ("8.0.RC3", 0)
    assert acl.get_version()[-1] == 0
    assert acl.get_soc_name() == "Ascend910B1"
