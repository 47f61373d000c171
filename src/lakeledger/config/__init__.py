"""Settings: where the ledger and the warehouse are, how Spark is reached, and how long things are kept.

They come, each overriding the one before, from defaults, `lakeledger.toml`, `LAKELEDGER_*` variables and the call.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lakeledger import locations
from lakeledger.config.sections import (
    AsthaSettings,
    BandSettings,
    CaptureSettings,
    CompactionSettings,
    ControlSettings,
    CostSettings,
    MirrorSettings,
    RecordSettings,
    RetentionSettings,
    S3Settings,
    SparkSettings,
    setting,
)
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub

__all__ = [
    "COMPRESSIONS",
    "DEFAULT_CONNECTIONS",
    "DEFAULT_URL",
    "DEFAULT_WAREHOUSE",
    "FILE_NAME",
    "METADATA",
    "PUBLISHED_FORMATS",
    "AsthaSettings",
    "BandSettings",
    "CaptureSettings",
    "CompactionSettings",
    "ControlSettings",
    "CostSettings",
    "MirrorSettings",
    "RecordSettings",
    "RetentionSettings",
    "S3Settings",
    "Settings",
    "SparkSettings",
    "check_formats",
    "check_given",
    "check_metadata",
    "find_file",
    "load",
    "read_file",
    "s3_from",
    "suggest",
]

FILE_NAME = "lakeledger.toml"
DEFAULT_URL = "sqlite:///lakeledger.db"
DEFAULT_WAREHOUSE = "warehouse"
DEFAULT_CONNECTIONS = 16

_TENANT = re.compile(r"^[a-z][a-z0-9_]{0,62}$")
_SUBSCRIBER = _TENANT
_PLACE = re.compile(r"[^:\s]+:[^:\s]+")

_NUMBER = (int, float)
_EXAMPLES = {
    "url": "write sqlite:///path/to/file.db or postgresql://user@host/database",
    "warehouse": "write a folder or a URL",
    "tenant": "write a name such as default",
    "metadata": "write sync, async or off",
}
_SETTINGS = {
    "url": str,
    "warehouse": str,
    "tenant": str,
    "metadata": str,
    "publish": list,
    "metadata_compression": str,
    "lease_seconds": _NUMBER,
    "outage_seconds": _NUMBER,
    "max_connections": int,
}
_SECTIONS: dict[str, dict[str, Any]] = {
    "spark": {"master": str, "remote": str, "app_name": str, "wait_seconds": _NUMBER, "conf": dict, "jars": list},
    "s3": {"endpoint": str, "region": str, "path_style": bool},
    "retention": {
        "runs_days": _NUMBER,
        "errors_days": _NUMBER,
        "dead_letters_days": _NUMBER,
        "positions_days": _NUMBER,
        "keyed_runs_days": _NUMBER,
        "records_days": _NUMBER,
        "quality_days": _NUMBER,
        "changes_days": _NUMBER,
        "schema_versions": int,
    },
    "costs": {"usd_per_hour": _NUMBER},
    "control": {"table": str, "backend": str, "folder": str, "package": str, "settings": str},
    "astha": {
        "retries": int,
        "first_pause_seconds": _NUMBER,
        "longest_pause_seconds": _NUMBER,
        "timeout_seconds": _NUMBER,
        "breaker_failures": int,
        "threads": int,
        "lease_seconds": _NUMBER,
        "alarm_seconds": _NUMBER,
    },
    "compaction": {
        "target_bytes": int,
        "small_share": _NUMBER,
        "min_files": int,
        "min_share": _NUMBER,
        "quiet_seconds": _NUMBER,
        "hot_files": int,
        "round_bytes": int,
        "background": str,
        "workers": int,
    },
    "bands": {
        "min_points": int,
        "scale": _NUMBER,
        "floor": _NUMBER,
        "floor_rows": int,
        "seasonal_min": int,
        "tolerance": _NUMBER,
        "shift_points": int,
        "window_days": _NUMBER,
        "time_zone": str,
    },
    "mirror": {"enabled": bool, "every_seconds": _NUMBER, "schemas": str},
    "records": {"repository": str, "bus": str, "bus_options": dict, "cluster": str, "workspace": str, "orchestrator": str, "schedule": str},
    "subscribers": {},
    "capture": {"mask": list, "unmask": list, "record_bytes": int, "retry_seconds": _NUMBER, "retry_cap_seconds": _NUMBER},
}


METADATA = ("sync", "async", "off")
PUBLISHED_FORMATS = ("iceberg", "delta")
COMPRESSIONS = ("none", "gzip")


def check_metadata(mode: str) -> str:
    """The mode, if it is one. Raises Invalid."""
    if mode not in METADATA:
        raise Invalid(f"metadata cannot be {mode!r}: write {', '.join(METADATA[:-1])} or {METADATA[-1]}")
    return mode


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """The formats that a table is published in, each once, if they are some. Raises Invalid."""
    wanted = [formats] if isinstance(formats, str) else list(formats)
    if unknown := [each for each in wanted if each not in PUBLISHED_FORMATS]:
        raise Invalid(f"publish cannot have {unknown[0]!r}: write {' or '.join(PUBLISHED_FORMATS)}, or both as a list")
    if not wanted:
        raise Invalid("publish needs a format, iceberg or delta: to publish nothing, write metadata = off")
    return tuple(each for each in PUBLISHED_FORMATS if each in wanted)


@dataclass(frozen=True)
class Settings:
    """Everything a ledger needs to open. Relative paths are relative to `base`, the folder of the settings `file` if there is one."""

    url: str = setting("the ledger: `sqlite:///file.db` or `postgresql://user@host/database`", DEFAULT_URL)
    warehouse: str | None = setting("the folder or URL of the tables; by default `warehouse` beside a SQLite ledger", None)
    tenant: str = setting("whose ledger this is: lower-case letters, digits, underscores", "default")
    metadata: str = setting(
        "when other engines see a new version, as Iceberg: `sync`, in its own commit; `async`, soon after; `off`, never", "async"
    )
    publish: tuple[str, ...] = setting(
        "as what other engines see tables: `iceberg`, `delta`, or both; Delta follows soon after the commit in either mode", ("iceberg",)
    )
    metadata_compression: str = setting("how Iceberg's metadata files are compressed: `none` or `gzip`", "none")
    lease_seconds: float = setting("how long a run may be silent before it counts as lost", 60.0)
    outage_seconds: float = setting("how long work in progress waits for a ledger that is away before it gives up", 300.0)
    max_connections: int = setting(
        "how many connections to the ledger's database one process uses at once, for all its tenants; whoever needs one more waits",
        DEFAULT_CONNECTIONS,
    )
    spark: SparkSettings = field(default_factory=SparkSettings)
    s3: S3Settings = field(default_factory=S3Settings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    costs: CostSettings = field(default_factory=CostSettings)
    control: ControlSettings = field(default_factory=ControlSettings)
    astha: AsthaSettings = field(default_factory=AsthaSettings)
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    bands: BandSettings = field(default_factory=BandSettings)
    mirror: MirrorSettings = field(default_factory=MirrorSettings)
    records: RecordSettings = field(default_factory=RecordSettings)
    subscribers: Mapping[str, str] = setting('who hears of changes besides lakeledger\'s own components: `name = "module:Class"`', dict)
    base: Path = field(default_factory=Path.cwd)
    file: Path | None = None

    def __post_init__(self) -> None:
        if not _TENANT.fullmatch(str(self.tenant)):
            raise Invalid(f"tenant {self.tenant!r} must match {_TENANT.pattern}: lower-case letters, digits, underscores")
        if self.warehouse and scrub(self.warehouse) != self.warehouse:
            raise Invalid(
                f"the warehouse {scrub(self.warehouse)} holds a password, which errors and pages would show: give it to Spark instead"
            )
        if self.warehouse and locations.is_url(self.warehouse):
            locations.normal(self.warehouse)
        if not 0 < self.lease_seconds < float("inf"):
            raise Invalid(f"lease_seconds must be positive, not {self.lease_seconds}")
        if not 0 <= self.outage_seconds < float("inf"):
            raise Invalid(f"outage_seconds must not be negative, not {self.outage_seconds}")
        check_metadata(self.metadata)
        object.__setattr__(self, "publish", check_formats(self.publish))  # in their order, whatever the order in the settings
        if self.metadata_compression not in COMPRESSIONS:
            raise Invalid(f"metadata_compression cannot be {self.metadata_compression!r}: write none or gzip")
        if self.max_connections < 1:
            raise Invalid(f"max_connections must be at least 1, not {self.max_connections}")
        for name, place in self.subscribers.items():
            if not _SUBSCRIBER.fullmatch(name) or not _PLACE.fullmatch(place):
                raise Invalid(
                    f"subscribers.{name} must be a name of lower-case letters, digits and underscores with 'module:Class', not {place!r}"
                )

    @property
    def warehouse_uri(self) -> str:
        """The warehouse as an absolute path or a URL, in its one spelling; by default the folder beside a SQLite ledger.

        Raises Invalid if a shared ledger has none: each of its users would write to a folder of their own.
        """
        if self.warehouse is None:
            if not self.url.startswith("sqlite:"):
                raise Invalid(f"the ledger at {scrub(self.url)} needs a warehouse: set `warehouse` in {FILE_NAME} or give --warehouse")
            return str(Path(self.database_url.removeprefix("sqlite:///")).parent / DEFAULT_WAREHOUSE)
        place = locations.normal(self.warehouse)
        # A URL is taken as it stands, also one of a file; a path is that of what its links lead to.
        return place if locations.is_url(self.warehouse) else str((self.base / Path(place).expanduser()).resolve())

    @property
    def database_url(self) -> str:
        """The url with a relative SQLite path made absolute."""
        prefix, path = "sqlite:///", self.url.removeprefix("sqlite:///")
        return f"{prefix}{(self.base / Path(path).expanduser()).resolve()}" if self.url.startswith(prefix) and path else self.url


def load(file: Path | None = None, env: Mapping[str, str] | None = None, **overrides: str | None) -> Settings:
    """Settings from the nearest `lakeledger.toml`, the environment and the given overrides. Raises Invalid."""
    check_given(**overrides)
    environment = os.environ if env is None else env
    found = file or find_file(Path.cwd())
    settings = read_file(found) if found else Settings()
    given = {
        name: overrides.get(name) or environment.get(f"LAKELEDGER_{name.upper()}") for name in ("url", "warehouse", "tenant", "metadata")
    }
    changed: dict[str, Any] = {name: _from_here(name, value) for name, value in given.items() if value}
    if formats := environment.get("LAKELEDGER_PUBLISH"):
        changed["publish"] = check_formats(each.strip() for each in formats.split(","))
    if changed.get("url", settings.url) != settings.url:
        changed.setdefault("warehouse", None)  # The file's warehouse belongs to the file's ledger.
    if records := environment.get("LAKELEDGER_RECORDS"):
        changed["records"] = replace(settings.records, repository=records)
    if master := environment.get("LAKELEDGER_SPARK"):
        remote = master if master.startswith("sc://") else None
        changed["spark"] = replace(settings.spark, remote=remote, master=settings.spark.master if remote else master)
    if mirror := environment.get("LAKELEDGER_MIRROR"):
        if mirror.lower() not in ("on", "off"):
            raise Invalid(f"LAKELEDGER_MIRROR must be on or off, not {mirror!r}")
        changed["mirror"] = replace(settings.mirror, enabled=mirror.lower() == "on")
    return replace(settings, **changed, s3=s3_from(environment, settings.s3))


def s3_from(environment: Mapping[str, str], settings: S3Settings) -> S3Settings:
    """The settings of S3 with what `LAKELEDGER_S3_*` variables say. Raises Invalid."""
    given = {name: environment.get(f"LAKELEDGER_S3_{name.upper()}") for name in _SECTIONS["s3"]}
    changed: dict[str, Any] = {name: value for name, value in given.items() if value}
    if word := changed.get("path_style"):
        if word.lower() not in ("true", "false"):
            raise Invalid(f"LAKELEDGER_S3_PATH_STYLE must be true or false, not {word!r}")
        changed["path_style"] = word.lower() == "true"
    return replace(settings, **changed)


def check_given(**given: object) -> None:
    """Raise Invalid for what was given and names nothing: the default would be somebody else's."""
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise Invalid(f"{name} must be text, not {type(value).__name__}: {_EXAMPLES[name]}")
        if value is not None and not value.strip():
            raise Invalid(f"{name} cannot be empty: {_EXAMPLES[name]}, or leave it out for the one in the settings")


def find_file(start: Path) -> Path | None:
    """The nearest `lakeledger.toml` in start or a folder above it."""
    return next((path for folder in (start, *start.parents) if (path := folder / FILE_NAME).is_file()), None)


def read_file(path: Path) -> Settings:
    """Settings from one TOML file. Raises Invalid for an unknown key or a wrong type."""
    import tomllib

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: not valid TOML: {error}") from error
    _check(path, document, {**_SETTINGS, **dict.fromkeys(_SECTIONS, dict)})
    sections = {name: document.pop(name, {}) for name in _SECTIONS}
    for name, allowed in _SECTIONS.items():
        _check(path, sections[name], allowed or dict.fromkeys(sections[name], str), prefix=f"{name}.")
    if "conf" in sections["spark"]:
        sections["spark"]["conf"] = dict(_conf(sections["spark"]["conf"]))
    if "bus_options" in sections["records"]:
        sections["records"]["bus_options"] = dict(_conf(sections["records"]["bus_options"]))
    if "publish" in document:
        document["publish"] = _texts(path, "publish", document["publish"])
    for section, name in (("capture", "mask"), ("capture", "unmask"), ("spark", "jars")):
        if name in sections[section]:
            sections[section][name] = _texts(path, f"{section}.{name}", sections[section][name])
    try:
        return Settings(
            **document,
            spark=SparkSettings(**sections["spark"]),
            s3=S3Settings(**sections["s3"]),
            retention=RetentionSettings(**sections["retention"]),
            capture=CaptureSettings(**sections["capture"]),
            costs=CostSettings(**sections["costs"]),
            control=ControlSettings(**sections["control"]),
            astha=AsthaSettings(**sections["astha"]),
            compaction=CompactionSettings(**sections["compaction"]),
            bands=BandSettings(**sections["bands"]),
            mirror=MirrorSettings(**sections["mirror"]),
            records=RecordSettings(**sections["records"]),
            subscribers=sections["subscribers"],
            base=path.parent.resolve(),
            file=path,
        )
    except Invalid as error:
        raise Invalid(f"{path}: {error}") from error


def suggest(word: str, known: list[str]) -> str:
    """`; did you mean 'x'?` when a known word is close, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _check(path: Path, document: Mapping[str, Any], allowed: Mapping[str, Any], prefix: str = "") -> None:
    for key, value in document.items():
        if key not in allowed:
            raise Invalid(f"{path}: unknown setting {prefix + key!r}{suggest(key, list(allowed))}")
        if not isinstance(value, allowed[key]) or isinstance(value, bool) != (allowed[key] is bool):
            raise Invalid(f"{path}: setting {prefix + key!r} has the wrong type: {value!r}")


def _texts(path: Path, name: str, values: list[Any]) -> tuple[str, ...]:
    if any(not isinstance(value, str) for value in values):
        raise Invalid(f"{path}: setting {name!r} must be a list of texts: {values!r}")
    return tuple(values)


def _from_here(name: str, value: str) -> str:
    """A relative path in a call or a variable is meant from where the caller is, not from where the file is."""
    if name == "url" and value.startswith("sqlite:///"):
        return f"sqlite:///{Path(value.removeprefix('sqlite:///')).expanduser().absolute()}"
    if name == "warehouse" and not locations.is_url(value):
        return str(Path(value).expanduser().absolute())
    return value


def _conf(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Options of Spark, or of Kafka, as text. TOML reads an unquoted `spark.ui.enabled` as tables in tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _conf(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value).lower() if isinstance(value, bool) else str(value)
