"""HA1xx by example."""

from __future__ import annotations

import threading
from contextlib import suppress
from unittest.mock import patch

import numpy as np

import hostacl
from hostacl.acl import util
from hostacl.testing import inject
from tests.checks.kit import Kit, misuse

PYTHON = ("python",)


@misuse("HA101", "rt.malloc", "", "no context; call aclrtSetDevice")
def no_context(kit: Kit, wrong: bool) -> None:
    def work() -> None:
        if not wrong:
            kit.api.rt.set_device(0)
        kit.api.rt.malloc(64, 0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@misuse("HA102", "rt.set_device", "deviceId", "7; allowed: 0 to 0")
def no_device(kit: Kit, wrong: bool) -> None:
    kit.api.rt.set_device(7 if wrong else 0)


@misuse("HA103", "init", "configPath", "/nowhere/acl.json")
def no_config_file(kit: Kit, wrong: bool) -> None:
    kit.api.finalize()
    kit.api.init("/nowhere/acl.json" if wrong else "")


@misuse("HA104", "init", "configPath", "line 1")
def bad_config(kit: Kit, wrong: bool) -> None:
    kit.api.finalize()
    kit.api.init(kit.file("acl.json", '{"err_msg_mode": }' if wrong else '{"err_msg_mode": "1"}'))


@misuse("HA105", "init", "configPath", '"check" = "freed"; allowed: "", all, or codes and prefixes')
def bad_setting(kit: Kit, wrong: bool) -> None:
    kit.api.finalize()
    kit.api.init(kit.file("acl.json", '{"hostacl": {"check": "%s"}}' % ("freed" if wrong else "HA204")))


@misuse("HA106", "rt.set_context", "context", "a destroyed context", "made at", "destroyed at")
def dead_context(kit: Kit, wrong: bool) -> None:
    context, _ = kit.api.rt.create_context(0)
    if wrong:
        kit.api.rt.destroy_context(context)
    kit.api.rt.set_context(context)
    kit.api.rt.destroy_context(context) if not wrong else None


@misuse("HA107", "rt.destroy_context", "context", "primary context of device 0")
def primary_context(kit: Kit, wrong: bool) -> None:
    primary, _ = kit.api.rt.get_context()
    other, _ = kit.api.rt.create_context(0)
    kit.api.rt.destroy_context(primary if wrong else other)


@misuse("HA108", "finalize", "", "1 tasks are still pending", also=("HA309",))
def pending_at_end(kit: Kit, wrong: bool) -> None:
    event, _ = kit.api.rt.create_event()
    kit.api.rt.stream_wait_event(kit.stream, event)
    if not wrong:
        kit.api.rt.record_event(event, 0)
    kit.api.finalize()
    kit.api.rt.record_event(event, 0)


@misuse("HA109", "mdl.load_from_file", "", "not supported")
def not_supported(kit: Kit, wrong: bool) -> None:
    if wrong:
        kit.api.mdl.load_from_file("model.om")


@misuse("HA111", "init", "", "aclInit was called before")
def init_twice(kit: Kit, wrong: bool) -> None:
    if not wrong:
        kit.api.finalize()
    kit.api.init("")


@misuse("HA112", "finalize", "", "aclFinalize was called before")
def finalize_twice(kit: Kit, wrong: bool) -> None:
    kit.api.finalize()
    if wrong:
        kit.api.finalize()


@misuse("HA114", "util.stop_thread", "thread_id", "its function does not return", faces=PYTHON)
def thread_that_does_not_end(kit: Kit, wrong: bool) -> None:
    """A thread that waits outside of Python, where no exception reaches it."""
    waits = threading.Lock()
    waits.acquire()

    def work(wait: bool) -> None:
        with suppress(SystemExit):
            waits.acquire(wait)

    with patch.object(util, "_STOP_SECONDS", 0.05):
        thread, _ = kit.api.util.start_thread(work, wrong)
        kit.api.util.stop_thread(thread)
    waits.release()
    kit.api.util.stop_thread(thread) if wrong else None


@misuse("HA115", "init", "configPath", "another configuration", also=("HA111",))
def other_config(kit: Kit, wrong: bool) -> None:
    kit.api.finalize()
    first, second = kit.file("a.json", "{}"), kit.file("b.json", '{"err_msg_mode": "1"}' if wrong else "{}")
    kit.api.init(first)
    kit.api.init(second)


@misuse("HA116", "rt.get_mem_info", "attr", "99")
def value_of_wrong_kind(kit: Kit, wrong: bool) -> None:
    kit.api.rt.get_mem_info(99 if wrong else 1)


@misuse("HA117", "rt.device_peer_access_status", "deviceId", "peerDeviceId = 0; allowed: two different", devices="2")
def peer_of_itself(kit: Kit, wrong: bool) -> None:
    kit.api.rt.device_peer_access_status(0, 0 if wrong else 1)


@misuse("HA118", "rt.get_device_info", "attr", "99")
def device_attribute(kit: Kit, wrong: bool) -> None:
    kit.api.rt.get_device_info(0, 99 if wrong else 101)


@misuse("HA119", "rt.ctx_get_sys_param_opt", "opt", "0 was never set")
def parameter_not_set(kit: Kit, wrong: bool) -> None:
    if not wrong:
        kit.api.rt.ctx_set_sys_param_opt(0, 1)
    kit.api.rt.ctx_get_sys_param_opt(0)


@misuse("HA120", "rt.set_device_sat_mode", "mode", "has one overflow mode only", devices="1")
def overflow_mode(kit: Kit, wrong: bool) -> None:
    with hostacl.settings(soc="Ascend310P3" if wrong else "Ascend910B1"):
        kit.api.rt.set_device_sat_mode(1)


@misuse("HA121", "rt.get_group_info_detail", "groupInfo", "is empty; call aclrtGetAllGroupInfo first")
def empty_group_info(kit: Kit, wrong: bool) -> None:
    info = kit.api.rt.create_group_info()
    if not wrong:
        kit.api.rt.get_all_group_info(info)
    kit.api.rt.get_group_info_detail(info, 0, 1, *([kit.host(np.zeros(8)), 8] if kit.face.is_c else []))


@misuse("HA122", "rt.set_device", "", "507008")
def injected(kit: Kit, wrong: bool) -> None:
    with inject(507008, call="acl.rt.set_device" if wrong else "acl.rt.set_context"):
        kit.api.rt.set_device(0)


@misuse("HA123", "rt.get_overflow_status", "", "results of more than 4096 bytes")
def large_results_before(kit: Kit, wrong: bool) -> None:
    x, y, status = kit.tensor([5000]), kit.tensor([5000]), kit.device(64)
    if not wrong:
        kit.api.rt.reset_overflow_status(kit.stream)
    kit.run("Add", [x, x], [y])
    kit.wait()
    kit.run("Sub", [x, x], [y])
    kit.api.rt.get_overflow_status(status, 64, kit.stream)
    kit.wait()


@misuse("HA124", "rt.set_device", "", "aclFinalize was called before")
def after_finalize(kit: Kit, wrong: bool) -> None:
    kit.api.finalize()
    if not wrong:
        kit.api.init("")
    kit.api.rt.set_device(0)
