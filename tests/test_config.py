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


@pytest.mark.parametrize("name", config.CHOICES)
def test_a_wrong_choice_is_told_and_ignored(name, capsys):
    assert config.from_environment({f"HOSTACL_{name.upper()}": "loose"}) == config.Settings()
    told = capsys.readouterr().err
    assert f"HOSTACL_{name.upper()} = 'loose'; allowed: {', '.join(config.CHOICES[name])}" in told


@pytest.mark.parametrize("name", config.CHOICES)
def test_a_wrong_choice_in_a_program_is_an_error(name):
    with pytest.raises(ValueError, match=f"HOSTACL_{name.upper()} = 'loose'; allowed: "), config.override(**{name: "loose"}):
        pass


def test_override_lasts_for_its_block():
    before = config.settings()
    with config.override(soc="Ascend310P", dtypes="permissive") as inside:
        assert inside.saturate
        assert config.settings().permissive
    assert config.settings() is before
