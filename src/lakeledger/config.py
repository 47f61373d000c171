"""Settings: where the ledger and the warehouse are, and how Spark is reached.

They come, each overriding the one before, from defaults, `lakeledger.toml`, `LAKELEDGER_*` variables and the call.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from lakeledger.errors import Invalid
from lakeledger.redaction import scrub

FILE_NAME = "lakeledger.toml"
DEFAULT_URL = "sqlite:///lakeledger.db"
DEFAULT_WAREHOUSE = "warehouse"

_TENANT = re.compile(r"^[a-z][a-z0-9_]{0,62}$")


@dataclass(frozen=True)
class SparkSettings:
    """How to reach Spark: a `master` (local[*], spark://…) or a Spark Connect `remote` (sc://…)."""

    master: str = "local[*]"
    remote: str | None = None
    app_name: str = "lakeledger"
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """Everything a ledger needs to open. Relative paths are relative to `base`."""

    url: str = DEFAULT_URL
    warehouse: str | None = None
    tenant: str = "default"
    lease_seconds: float = 60.0
    spark: SparkSettings = field(default_factory=SparkSettings)
    base: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        if not _TENANT.match(self.tenant):
            raise Invalid(f"tenant {self.tenant!r} must match {_TENANT.pattern}: lower-case letters, digits, underscores")
        if self.lease_seconds <= 0:
            raise Invalid(f"lease_seconds must be positive, not {self.lease_seconds}")

    @property
    def warehouse_uri(self) -> str:
        """The warehouse as an absolute path or a URL; by default the folder beside a SQLite ledger.

        Raises Invalid if a shared ledger has none: each of its users would write to a folder of their own.
        """
        if self.warehouse is None:
            if not self.url.startswith("sqlite:"):
                raise Invalid(f"the ledger at {scrub(self.url)} needs a warehouse: set `warehouse` in {FILE_NAME} or give --warehouse")
            return str(Path(self.database_url.removeprefix("sqlite:///")).parent / DEFAULT_WAREHOUSE)
        if "://" in self.warehouse:
            return self.warehouse.rstrip("/")
        return str((self.base / Path(self.warehouse).expanduser()).resolve())

    @property
    def database_url(self) -> str:
        """The url with a relative SQLite path made absolute."""
        prefix, path = "sqlite:///", self.url.removeprefix("sqlite:///")
        return f"{prefix}{(self.base / path).resolve()}" if self.url.startswith(prefix) and path else self.url


def load(file: Path | None = None, env: Mapping[str, str] | None = None, **overrides: str | None) -> Settings:
    """Settings from the nearest `lakeledger.toml`, the environment and the given overrides. Raises Invalid."""
    environment = os.environ if env is None else env
    found = file or find_file(Path.cwd())
    settings = read_file(found) if found else Settings()
    given = {name: overrides.get(name) or environment.get(f"LAKELEDGER_{name.upper()}") for name in ("url", "warehouse", "tenant")}
    changed: dict[str, Any] = {name: value for name, value in given.items() if value}
    if changed.get("url", settings.url) != settings.url:
        changed.setdefault("warehouse", None)  # The file's warehouse belongs to the file's ledger.
    if master := environment.get("LAKELEDGER_SPARK"):
        remote = master if master.startswith("sc://") else None
        changed["spark"] = replace(settings.spark, remote=remote, master=settings.spark.master if remote else master)
    return replace(settings, **changed)


def find_file(start: Path) -> Path | None:
    """The nearest `lakeledger.toml` in start or a folder above it."""
    return next((path for folder in (start, *start.parents) if (path := folder / FILE_NAME).is_file()), None)


def read_file(path: Path) -> Settings:
    """Settings from one TOML file. Raises Invalid for an unknown key or a wrong type."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: not valid TOML: {error}") from error
    spark = document.pop("spark", {})
    _check(path, document, {"url": str, "warehouse": str, "tenant": str, "lease_seconds": (int, float)})
    _check(path, spark, {"master": str, "remote": str, "app_name": str, "conf": dict}, prefix="spark.")
    if "conf" in spark:
        spark["conf"] = {key: _conf_text(value) for key, value in spark["conf"].items()}
    return Settings(**document, spark=SparkSettings(**spark), base=path.parent.resolve())


def suggest(word: str, known: list[str]) -> str:
    """`; did you mean 'x'?` when a known word is close, else nothing."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _check(path: Path, document: Mapping[str, Any], allowed: Mapping[str, Any], prefix: str = "") -> None:
    for key, value in document.items():
        if key not in allowed:
            raise Invalid(f"{path}: unknown setting {prefix + key!r}{suggest(key, list(allowed))}")
        if not isinstance(value, allowed[key]) or isinstance(value, bool):
            raise Invalid(f"{path}: setting {prefix + key!r} has the wrong type: {value!r}")


def _conf_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def setting_names() -> list[str]:
    """The names a settings file may hold, for documentation."""
    return [item.name for item in fields(Settings) if item.name != "base"]
