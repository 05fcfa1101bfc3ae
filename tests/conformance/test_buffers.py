"""Data buffers: behaviour contract, section "Descriptors, buffers, attributes"."""

from __future__ import annotations

import acl

INVALID = 100000


def test_a_buffer_gives_back_what_it_was_made_of() -> None:
    """Data buffers: create checks nothing."""
    buffer = acl.create_data_buffer(0x1000, 2**32 + 5)
    assert acl.get_data_buffer_addr(buffer) == 0x1000
    assert acl.get_data_buffer_size_v2(buffer) == 2**32 + 5
    assert acl.get_data_buffer_size(buffer) == 5
    assert acl.destroy_data_buffer(buffer) == 0


def test_update() -> None:
    """Data buffers: update."""
    buffer = acl.create_data_buffer(0x1000, 64)
    assert acl.update_data_buffer(buffer, 0x2000, 32) == 0
    assert (acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size_v2(buffer)) == (0x2000, 32)
    assert acl.destroy_data_buffer(buffer) == 0


def test_null() -> None:
    """Data buffers: update and destroy of NULL IP; getters on NULL 0."""
    assert acl.update_data_buffer(0, 0, 0) == INVALID
    assert acl.destroy_data_buffer(0) == INVALID
    assert (acl.get_data_buffer_addr(0), acl.get_data_buffer_size(0), acl.get_data_buffer_size_v2(0)) == (0, 0, 0)


def test_a_second_destroy_is_told() -> None:
    """A dead buffer: IP with a text, never a crash (report B089)."""
    buffer = acl.create_data_buffer(0, 0)
    assert acl.destroy_data_buffer(buffer) == 0
    assert acl.destroy_data_buffer(buffer) == INVALID
    assert "destroyed" in (acl.get_recent_err_msg() or "")


def test_an_empty_list_is_null() -> None:
    """An optional input left out: create_data_buffer([], 0) works as create_data_buffer(0, 0)."""
    buffer = acl.create_data_buffer([], 0)
    assert acl.get_data_buffer_addr(buffer) == 0
    assert acl.destroy_data_buffer(buffer) == 0


def test_foreign_numbers_do_no_harm() -> None:
    """A foreign handle: IP with a text, never a crash."""
    for number in (1, 5, 0xDEADBEEF, 2**63, 2**64 - 1):
        assert acl.update_data_buffer(number, 0, 0) == INVALID
        assert acl.get_recent_err_msg()
