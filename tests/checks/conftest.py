"""The C programs of these tests are built as those of tests/capi."""

from tests.capi.conftest import c_env, compile_c, toolkit

__all__ = ["c_env", "compile_c", "toolkit"]
