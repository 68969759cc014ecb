"""The service's configuration file."""

import json
from pathlib import Path

import pytest
from attrs import asdict, evolve

from harness.demo._config import describe_changes, read_config, write_config
from tests.demo.conftest import CONFIG


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """The configuration survives its file."""
    write_config(tmp_path / "config.json", CONFIG)
    assert read_config(tmp_path / "config.json") == CONFIG


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"pool_size": 0}, "pool_size is 0; allowed: a whole number from 1 on"),
        ({"pool_size": True}, "pool_size is True"),
        ({"fraud_check_ms": -1}, "fraud_check_ms is -1"),
        ({"version": "2\n3"}, r"version is '2\n3'; allowed: a printable text"),
        ({"version": ""}, "version is ''"),
        ({"port": 80}, "port"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, change: dict[str, object], named: str) -> None:
    """A setting that is not allowed is refused with the file, its name, its value and the rule."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**asdict(CONFIG), **change}))
    with pytest.raises(ValueError, match="pool_size, acquire_timeout_ms") as refused:
        read_config(path)
    assert str(path) in str(refused.value)
    assert named in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "5", "{}", "{"])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, text: str) -> None:
    """A file that is no JSON object with all settings is refused with its name."""
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="allowed: a JSON object with version"):
        read_config(path)


def test_a_deploy_names_what_it_changed() -> None:
    """The history line holds each changed setting with both values, and not the version."""
    after = evolve(CONFIG, version="1.1.0", pool_size=1, fraud_check_ms=30)
    assert (
        describe_changes(CONFIG, after)
        == "changed pool_size from 2 to 1, fraud_check_ms from 0 to 30"
    )


def test_a_deploy_that_changed_nothing_says_so() -> None:
    """A new version alone is no change of the settings."""
    assert describe_changes(CONFIG, evolve(CONFIG, version="1.1.0")) == "changed no setting"
