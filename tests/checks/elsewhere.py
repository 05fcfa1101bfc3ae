"""Rules that no call through both faces can break on purpose: why, and the test that breaks them another way."""

from __future__ import annotations

from collections.abc import Mapping

ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "HA105": ("settings are hostacl's own", "tests/test_profiles.py::test_a_bad_setting_changes_nothing"),
    "HA110": ("the process must have no Python", "tests/capi/test_bridge.py::test_without_a_libpython_the_package_is_named"),
    "HA114": ("a fault of hostacl", ""),
    "HA311": ("a signal must come", "tests/test_processes.py::test_control_c_ends_a_wait_and_the_machine_goes_on"),
    "HA529": ("user operators are loaded once", "tests/singleop/test_custom.py::test_an_installed_package_brings_operators"),
    "HA530": ("a package must be missing", "tests/ops/engines/test_onnxruntime.py::test_a_missing_package_is_named"),
    "HA613": ("of atc", "tests/singleop/test_singleop_json.py::test_refusals_name_the_place_the_value_and_what_is_allowed"),
    "HA614": ("of atc", "tests/cli/test_cli.py::test_atc_options_that_do_not_do"),
}
