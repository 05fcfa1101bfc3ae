"""Settings: from the environment, changed for a while."""

from __future__ import annotations

import pytest

from hostacl import config


@pytest.mark.parametrize(
    ("soc", "mode"),
    [
        ("Ascend910B1", "inf_nan"),
        ("Ascend910_93", "inf_nan"),
        ("Ascend950", "inf_nan"),
        ("Ascend910A", "saturate"),
        ("Ascend310P", "saturate"),
        ("Ascend310B", "saturate"),
    ],
)
def test_overflow_mode_follows_the_soc(soc, mode):
    assert config.from_environment({"HOSTACL_SOC": soc}).overflow == mode


def test_a_wrong_choice_names_the_variable_and_what_is_allowed():
    with pytest.raises(ValueError, match="HOSTACL_DTYPES = 'loose'; allowed: strict, permissive"):
        config.from_environment({"HOSTACL_DTYPES": "loose"})


def test_override_lasts_for_its_block():
    before = config.settings()
    with config.override(soc="Ascend310P", dtypes="permissive") as inside:
        assert inside.saturate
        assert config.settings().permissive
    assert config.settings() is before
