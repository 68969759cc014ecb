"""The payment service's configuration file, and what a deploy changed in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from attrs import asdict, field, fields, frozen

from harness.demo._checks import printable, whole

if TYPE_CHECKING:
    from pathlib import Path


@frozen(kw_only=True)
class ServiceConfig:
    """
    What the payment service reads once, when it starts.

    Attributes:
        version: The release that runs with this configuration.
        pool_size: How many database connections all requests share.
        acquire_timeout_ms: How long a request waits for a connection before it gives up.
        fraud_check_ms: How long the fraud check keeps the connection; 0 leaves the check out.
    """

    version: str = field(validator=printable)
    pool_size: int = field(validator=whole(1))
    acquire_timeout_ms: int = field(validator=whole(1))
    fraud_check_ms: int = field(validator=whole(0))


def write_config(path: Path, config: ServiceConfig) -> None:
    """
    Write *config* as the JSON file that an operator would edit.

    Args:
        path: The file to replace.
        config: What the service is to run with from its next start on.
    """
    path.write_text(json.dumps(asdict(config), indent=2) + "\n", encoding="utf-8")


def read_config(path: Path) -> ServiceConfig:
    """
    Read the configuration file.

    Args:
        path: The JSON file to read.

    Returns:
        The checked configuration.

    Raises:
        ValueError: If the file is not a JSON object of the known settings. The text names the
            file and what is wrong with it.
    """
    try:
        # What is no object can't be unpacked, and the constructor refuses what is no setting.
        return ServiceConfig(**json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        message = f"config {path}: {error}; allowed: a JSON object with {_setting_names()}"
        raise ValueError(message) from error


def describe_changes(before: ServiceConfig, after: ServiceConfig) -> str:
    """
    Say which settings a deploy changed, as its history line records it.

    Args:
        before: The configuration that ran until now.
        after: The configuration that runs from now on.

    Returns:
        ``changed name from old to new``, for each changed setting but the version, or
        ``changed no setting``.
    """
    old, new = asdict(before), asdict(after)
    changed = [name for name in old if name != "version" and old[name] != new[name]]
    texts = [f"{name} from {old[name]} to {new[name]}" for name in changed]
    return f"changed {', '.join(texts) or 'no setting'}"


def _setting_names() -> str:
    return ", ".join(attribute.name for attribute in fields(ServiceConfig))
