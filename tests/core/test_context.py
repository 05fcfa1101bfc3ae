"""Devices and contexts, and the life of the whole."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import acl
from hostacl import _machine

from .conftest import device_memory, messages, reported


def in_new_thread(function: Callable[[], Any]) -> Any:
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(function()))
    thread.start()
    thread.join()
    return answers[0]


def test_a_new_thread_has_no_context():
    context = acl.rt.get_context()[0]

    def work() -> list[int]:
        without = [acl.rt.malloc(8, 0)[-1], acl.rt.get_device()[-1], acl.rt.create_stream()[-1], acl.rt.synchronize_device()]
        text = messages()
        acl.rt.set_context(context)
        return [*without, "aclrtSetDevice" in text, acl.rt.malloc(8, 0)[-1], acl.rt.get_device()[-1]]

    assert in_new_thread(work) == [107002, 107002, 107002, 107002, True, 0, 0]


@pytest.mark.parametrize("device", [-1, 1, 99])
def test_devices_that_are_not_there(device: int):
    assert acl.rt.set_device(device) == 107001
    assert "HOSTACL_DEVICES" in messages()
    assert acl.rt.reset_device(device) == 107001
    assert acl.rt.create_context(device)[-1] == 107001


def test_the_number_of_devices_is_a_setting():
    assert _machine.configure("devices", "4") == 0
    assert acl.rt.get_device_count() == (4, 0)
    assert acl.rt.set_device(3) == 0
    assert acl.rt.get_device() == (3, 0)
    assert acl.rt.device_can_access_peer(0, 3) == (1, 0)
    assert acl.rt.device_enable_peer_access(0, 0) == 0
    assert acl.rt.device_peer_access_status(3, 0) == (1, 0)
    assert acl.rt.device_enable_peer_access(3, 0) == 107000


def test_contexts_are_made_set_and_destroyed():
    primary = acl.rt.get_context()[0]
    made, ret = acl.rt.create_context(0)
    assert ret == 0
    assert acl.rt.get_context() == (made, 0)
    assert acl.rt.set_context(primary) == 0
    assert acl.rt.destroy_context(made) == 0
    assert acl.rt.destroy_context(made) == 107000
    assert "a destroyed context" in messages()
    assert acl.rt.set_context(made) == 107000
    assert acl.rt.destroy_context(primary) == 107000


def test_streams_end_with_their_context():
    acl.rt.create_context(0)
    context, stream = acl.rt.get_context()[0], acl.rt.create_stream()[0]
    assert acl.rt.destroy_context(context) == 0
    assert acl.rt.get_context()[-1] == 107002
    acl.rt.set_device(0)
    assert acl.rt.synchronize_stream(stream) == 107017


def test_reset_frees_what_the_device_owns():
    pointer, stream = device_memory(64), acl.rt.create_stream()[0]
    assert acl.rt.get_primary_ctx_state(0)[0] in (0, 1)
    assert acl.rt.reset_device(0) == 0
    assert acl.rt.get_device()[-1] == 107002
    assert acl.rt.free(pointer) == 107000
    assert "aclrtResetDevice" in messages()
    assert acl.rt.set_device(0) == 0
    assert acl.rt.synchronize_stream(stream) == 107017
    assert _machine.live_objects()["device_blocks"] == 0


def test_a_stream_of_another_context_works_and_is_reported(stream: int):
    acl.rt.create_context(0)
    assert acl.rt.synchronize_stream(stream) == 0
    assert reported() == ["HA305"]


def test_init_and_finalize_again_and_again():
    assert acl.init() == 100002
    assert "harmless" in messages()
    assert acl.finalize() == 0
    assert acl.finalize() == 100037
    for _ in range(3):
        assert acl.init() == 0
        assert acl.rt.set_device(0) == 0
        assert acl.rt.free(device_memory(8)) == 0
        assert acl.rt.reset_device(0) == 0
        assert acl.finalize() == 0


@pytest.mark.parametrize("times", [1, 2])
def test_what_the_second_init_says_is_gone_after_another_call(times: int):
    for _ in range(times):
        assert acl.init() == 100002
    assert acl.rt.get_device() == (0, 0)
    assert acl.get_recent_err_msg() is None
    assert acl.init() == 100002
    assert acl.rt.free(0) == 100000
    assert "harmless" not in messages()  # but what the other call says
    for _ in range(times + 1):
        acl.finalize()


def test_finalize_reference_counts():
    acl.init()
    assert acl.finalize_reference() == (1, 0)
    assert acl.finalize_reference() == (0, 0)
    assert acl.finalize_reference()[-1] == 100037


def test_late_calls_answer():
    acl.finalize()
    assert acl.rt.get_device() == (0, 0)
    assert acl.rt.reset_device(0) == 0
    assert acl.rt.get_device()[-1] == 107002
    assert acl.rt.synchronize_device() == 107002


def test_messages_are_newest_first_and_cleared_by_reading():
    assert acl.get_recent_err_msg() is None
    acl.rt.free(1)
    acl.rt.set_device(99)
    first, second = messages().split("\n")
    assert first.startswith("HA102: acl.rt.set_device(): ")
    assert second.startswith("HA207: acl.rt.free(): ")
    assert acl.get_recent_err_msg() is None


def test_messages_belong_to_their_thread():
    acl.rt.free(1)
    assert in_new_thread(acl.get_recent_err_msg) is None
    assert "HA207" in messages()


def test_last_errors():
    acl.rt.free(1)
    assert acl.rt.peek_at_last_error(0) == 107000
    assert acl.rt.get_last_error(0) == 107000
    assert acl.rt.peek_at_last_error(0) == 0


def test_parameters_and_limits_come_back():
    assert acl.rt.ctx_get_sys_param_opt(0)[-1] == 107021
    assert acl.rt.ctx_set_sys_param_opt(0, 1) == 0
    assert acl.rt.ctx_get_sys_param_opt(0) == (1, 0)
    assert acl.rt.set_device_res_limit(0, 0, 4) == 0
    assert acl.rt.get_device_res_limit(0, 0) == (4, 0)
    assert acl.rt.reset_device_res_limit(0) == 0
    assert acl.rt.get_device_res_limit(0, 0)[0] > 4
    assert acl.rt.set_op_execute_timeout_v2(1500) == (2000, 0)
    assert acl.rt.get_run_mode() == (1, 0)


def test_saturation_by_product():
    assert acl.rt.get_device_sat_mode() == (1, 0)
    assert acl.rt.set_device_sat_mode(0) == 0
    assert acl.rt.get_device_sat_mode() == (0, 0)
    assert _machine.configure("soc", "Ascend310P3") == 0
    assert acl.rt.get_device_sat_mode() == (0, 0)
    assert acl.rt.set_device_sat_mode(1) == 0
    assert acl.rt.get_device_sat_mode() == (0, 0)
    assert "HA120" in reported()


def test_process_parameters_are_off_until_they_are_set() -> None:
    for option in (0, 1):  # ACL_OPT_DETERMINISTIC, ACL_OPT_ENABLE_DEBUG_KERNEL
        assert acl.rt.get_sys_param_opt(option) == (0, 0)
        assert acl.rt.set_sys_param_opt(option, 1) == 0
        assert acl.rt.get_sys_param_opt(option) == (1, 0)
        assert acl.rt.set_sys_param_opt(option, 0) == 0
