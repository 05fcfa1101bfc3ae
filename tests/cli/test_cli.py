"""The hostacl command, as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostacl.cli.atc import read_options
from hostacl.cli.explain import page
from hostacl.cli.paths import TOOLKIT, environment, prefixed
from hostacl.cli.run import queue_setting
from hostacl.errors import AclError
from hostacl.singleop import modelfile

X = {"format": "ND", "shape": [8, 16], "type": "int32"}
ADD = {"op": "Add", "input_desc": [X, X], "output_desc": [X]}


def hostacl(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hostacl.cli.main", *map(str, arguments)]
    environ = {**os.environ, "COLUMNS": "200", **more}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)


def test_help_names_every_command() -> None:
    done = hostacl("--help")
    assert done.returncode == 0
    for name in ("run", "atc", "doctor", "explain", "ops", "toolkit"):
        assert f"\n  {name} " in done.stdout
        assert hostacl(name, "--help").returncode == 0


def test_environment_keeps_what_was_there() -> None:
    before = {"PYTHONPATH": "/a:/b", "LD_LIBRARY_PATH": "/c", "PATH": "/bin", "HOME": "/h"}
    environ = environment({**before, "HOSTACL_PYTHON": "/p", "ASCEND_HOME_PATH": "/cann"})
    packages = str(TOOLKIT.parent.parent)
    assert environ["PYTHONPATH"] == f"{packages}:/a:/b"
    assert environ["LD_LIBRARY_PATH"] == f"{TOOLKIT}/lib64:/c"
    assert environ["PATH"] == f"{TOOLKIT}/bin:/bin"
    assert environ["HOME"] == "/h"
    assert environ["HOSTACL_PYTHON"] == "/p"
    assert environment({})["HOSTACL_PYTHON"] == sys.executable
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "DDK_PATH"):
        assert environ[name] == str(TOOLKIT)
    assert environ["ASCEND_OPP_PATH"].startswith(str(TOOLKIT))
    assert environ["NPU_HOST_LIB"].startswith(str(TOOLKIT))
    assert environment(environ) == environ


def test_prefixed_names_a_folder_once() -> None:
    assert prefixed(Path("/x"), "") == "/x"
    assert prefixed(Path("/x"), "/a::/x:/b") == "/x:/a:/b"


def test_run_becomes_the_program() -> None:
    done = hostacl(
        "run", sys.executable, "-c", "import os, acl; print(acl.__file__, os.environ['DDK_PATH']); raise SystemExit(5)"
    )
    assert done.returncode == 5
    assert done.stdout.split()[1] == str(TOOLKIT)


@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_run_hands_on_every_argument(dashes: list[str]) -> None:
    done = hostacl("run", *dashes, sys.executable, "-c", "import sys; print(sys.argv[1:])", "--help", "-v", "--", "a b")
    assert done.stdout == "['--help', '-v', '--', 'a b']\n"


def test_run_of_no_such_command(tmp_path: Path) -> None:
    done = hostacl("run", "no-such-command", "x")
    assert (done.returncode, done.stdout) == (127, "")
    assert "command not found on PATH: no-such-command" in done.stderr
    script = tmp_path / "script.py"
    script.write_text("print(1)")
    done = hostacl("run", script)
    assert done.returncode == 126
    assert f"hostacl run python {script}" in done.stderr
    assert hostacl("run").returncode == 2


@pytest.mark.parametrize("scheduler", ["deferred", "shuffled:7"])
def test_run_turns_off_a_task_queue_that_would_deadlock(scheduler: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert queue_setting({"HOSTACL_SCHEDULER": scheduler}) == {"TASK_QUEUE_ENABLE": "0"}
    assert scheduler in capsys.readouterr().err
    assert queue_setting({"HOSTACL_SCHEDULER": scheduler, "TASK_QUEUE_ENABLE": "0"}) == {}
    assert queue_setting({"HOSTACL_SCHEDULER": "eager"}) == queue_setting({}) == {}


def test_toolkit_prints_the_root() -> None:
    assert hostacl("toolkit").stdout.strip() == str(TOOLKIT)


def test_atc_writes_the_models(tmp_path: Path) -> None:
    (tmp_path / "ops.json").write_text(json.dumps([{"compile_flag": 1}, ADD, {**ADD, "name": "mine"}]))
    done = hostacl(
        "atc", f"--singleop={tmp_path}/ops.json", f"--output={tmp_path}/models", "--soc_version=Ascend310", "--log=error"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "ATC run success"
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["0_Add_3_2_8_16_3_2_8_16_3_2_8_16.om", "mine.om"]
    model = modelfile.read(tmp_path / "models" / "mine.om")
    assert (model.op_type, [spec.shape for spec in model.tensors]) == ("Add", [(8, 16)] * 3)


def test_atc_is_on_the_path_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "ops.json").write_text(json.dumps([ADD]))
    done = hostacl("run", "sh", "-c", f"atc --singleop {tmp_path}/ops.json --output {tmp_path}")
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.om"))) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([{**ADD, "op": "Addd"}], ("E40021: HA501", "operator 0", "Addd", "nearest", "Add")),
        ([ADD, {**ADD, "output_desc": [{**X, "type": "float"}]}], ("E40021: HA512", "operator 1", "Add", "y", "FLOAT")),
        (
            [{**ADD, "input_desc": [X, {**X, "type": "int33"}]}],
            ("E10001: HA613", '[0].input_desc[1].type = "int33"', "allowed: "),
        ),
    ],
)
def test_atc_refuses_by_place(tmp_path: Path, content: object, said: tuple[str, ...]) -> None:
    (tmp_path / "ops.json").write_text(json.dumps(content))
    done = hostacl("atc", f"--singleop={tmp_path}/ops.json", f"--output={tmp_path}/out")
    assert done.returncode == 1
    assert "ATC run failed" in done.stdout
    assert [part for part in said if part not in done.stderr] == []
    assert not (tmp_path / "out").exists()


def test_atc_options_in_every_spelling() -> None:
    options = read_options(["--singleop", "a.json", "--output=out", "--core_type=VectorCore", "--novel", "--log=debug"])
    assert options[:2] == ("a.json", "out")
    assert options.others == ("core_type", "novel", "log")
    assert read_options(["--output=o", "--singleop=a=b.json"]).singleop == "a=b.json"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--output=x"], "--singleop"), (["--singleop=x"], "--output"), (["--singleop=x", "--output="], "--output"),
     (["ops.json"], "'ops.json'"), (["--model=net.pb", "--framework=3"], "networks")],
)  # fmt: skip
def test_atc_options_that_do_not_do(arguments: list[str], said: str) -> None:
    with pytest.raises(AclError, match=said):
        read_options(arguments)


def test_atc_of_a_missing_file(tmp_path: Path) -> None:
    done = hostacl("atc", "--singleop=none.json", f"--output={tmp_path}")
    assert done.returncode == 1
    assert "none.json" in done.stderr


def test_atc_says_which_options_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "ops.json").write_text(json.dumps([ADD]))
    done = hostacl("atc", f"--singleop={tmp_path}/ops.json", f"--output={tmp_path}", "--novel_option=1")
    assert done.returncode == 0
    assert "--novel_option" in done.stderr


def test_explain_rules_and_codes() -> None:
    assert page("ha502").startswith("HA502 dtype not supported (error; returns 500002)")  # type: ignore[union-attr]
    for code in ("100024", "ACL_ERROR_OP_NOT_FOUND", "error_op_not_found"):
        text = page(code)
        assert text is not None
        assert "100024 ACL_ERROR_OP_NOT_FOUND" in text
        assert "HA601" in text
    assert page("0").startswith("0 ACL_")  # type: ignore[union-attr]
    assert page("HA999") is None
    assert page("123456") is None


def test_explain_lists_every_rule() -> None:
    lines = hostacl("explain").stdout.splitlines()
    assert [line[:5] for line in lines] == sorted(line[:5] for line in lines)
    assert "HA502  dtype not supported: 500002" in lines


def test_explain_of_nothing_gives_the_nearest() -> None:
    done = hostacl("explain", "ACL_ERROR_OP_NOT_FOUNT")
    assert done.returncode == 1
    assert "ACL_ERROR_OP_NOT_FOUND" in done.stderr


def test_doctor_runs_an_add() -> None:
    done = hostacl("doctor")
    assert done.returncode == 0, done.stdout
    for part in (
        "hostacl",
        "numpy",
        "libpython",
        "import acl, hostacl run",
        "libascendcl.so, here",
        "SIMD",
        "profile",
        "Ascend910B1",
    ):
        assert part in done.stdout
    assert "works: Add [0, 1, 2, 3] to itself gives [0.0, 2.0, 4.0, 6.0]" in done.stdout


def test_ops_lists_and_describes() -> None:
    done = hostacl("ops")
    assert done.returncode == 0
    assert "Add" in done.stdout
    one = hostacl("ops", "Conv2D").stdout
    for part in ("filter", "bias", "optional", "strides", "required", "data_format", "NHWC"):
        assert part in one
    wrong = hostacl("ops", "Conv2")
    assert wrong.returncode == 1
    assert "Conv2D" in wrong.stderr
