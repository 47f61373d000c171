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
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub

FILE_NAME = "lakeledger.toml"
DEFAULT_URL = "sqlite:///lakeledger.db"
DEFAULT_WAREHOUSE = "warehouse"
DEFAULT_CONNECTIONS = 16

_TENANT = re.compile(r"^[a-z][a-z0-9_]{0,62}$")
_SUBSCRIBER = _TENANT
_PLACE = re.compile(r"[^:\s]+:[^:\s]+")
_ENDPOINT = re.compile(r"https?://[^/?#@\s]+/?", re.IGNORECASE)

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


def _setting(help: str, default: Any, *, repr: bool = True) -> Any:
    """A field with the sentence that the reference shows for it."""
    given: dict[str, Any] = {"default_factory" if callable(default) else "default": default}
    return field(**given, repr=repr, metadata={"help": help})


@dataclass(frozen=True)
class SparkSettings:
    """How to reach Spark."""

    master: str = _setting("where Spark runs: `local[*]`, `spark://host:7077`", "local[*]")
    # Not shown: its parameters may hold a token.
    remote: str | None = _setting("a Spark Connect server, `sc://host:15002`; then `master` is not used", None, repr=False)
    app_name: str = _setting("the name Spark shows", "lakeledger")
    conf: Mapping[str, str] = _setting("any Spark configuration, as a table of strings", dict)
    jars: tuple[str, ...] = _setting(
        "what sessions that lakeledger starts take besides what the warehouse needs, of `lakeledger jars list`: `s3`, `postgresql`", tuple
    )
    wait_seconds: float = _setting("how long work waits for an executor of the cluster before it fails", 30.0)

    def __post_init__(self) -> None:
        if not 0 < self.wait_seconds < float("inf"):
            raise Invalid(f"spark.wait_seconds must be positive, not {self.wait_seconds}")


@dataclass(frozen=True)
class S3Settings:
    """How S3 is reached, by lakeledger and by the Spark that it starts.

    Credentials are no settings: they are where every AWS tool finds them, in variables, in a profile or with the machine.
    """

    endpoint: str | None = _setting("a server other than AWS: `http://127.0.0.1:9000`; by default AWS_ENDPOINT_URL", None)
    region: str | None = _setting("the region; by default AWS_REGION, else that of the bucket", None)
    path_style: bool | None = _setting(
        "whether the bucket stands in the path and not in the name of the host; by default it does where an endpoint is set", None
    )

    def __post_init__(self) -> None:
        if self.endpoint and not _ENDPOINT.fullmatch(self.endpoint):
            raise Invalid(f"s3.endpoint must be http://host:port or https://host, not {scrub(self.endpoint)!r}")

    def resolved(self, environment: Mapping[str, str] = os.environ) -> S3Settings:
        """With what AWS's own variables say where nothing is set."""
        endpoint = self.endpoint or environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
        region = self.region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
        path_style = endpoint is not None if self.path_style is None else self.path_style
        return S3Settings((endpoint or "").rstrip("/") or None, region or None, path_style)


@dataclass(frozen=True)
class RetentionSettings:
    """How long the ledger keeps what is over. What is open, pending, running or current is never cleaned up."""

    runs_days: float = _setting("runs that have ended, with their steps", 30.0)
    errors_days: float = _setting("errors that were resolved or ignored", 30.0)
    dead_letters_days: float = _setting("dead letters that were resolved or discarded", 30.0)
    positions_days: float = _setting("earlier values of positions; forced ones are kept", 30.0)
    keyed_runs_days: float = _setting(
        "runs with an idempotency key, which is refused for as long: at least as long as you repeat work", 90.0
    )
    records_days: float = _setting("records, such as the volume of each load; archived schema versions are kept", 90.0)
    changes_days: float = _setting("events of the change log; those that a subscriber has not read yet are kept", 7.0)
    schema_versions: int = _setting("versions of a schema kept at hand; older ones become records", 10)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < float("inf"):
                raise Invalid(f"retention.{name} cannot be {value}")
        if self.schema_versions < 1:
            raise Invalid(f"retention.schema_versions cannot be {self.schema_versions}: the current one is always kept")

    def of_days(self, days: float | None) -> RetentionSettings:
        """So many days for runs, errors, dead letters and positions. Without a number, as it is.

        Keys are kept at least as long as configured, because they keep work from being done twice; records and events as configured.
        """
        if days is None:
            return self
        keyed = max(days, self.keyed_runs_days)
        return replace(self, runs_days=days, errors_days=days, dead_letters_days=days, positions_days=days, keyed_runs_days=keyed)


@dataclass(frozen=True)
class CaptureSettings:
    """How errors and dead letters are kept, and how errors are tried again."""

    mask: tuple[str, ...] = _setting("columns whose values are never stored with an error, as patterns: `email`, `card_*`", tuple)
    unmask: tuple[str, ...] = _setting(
        "columns that are no secrets although they are called so, as patterns: `token`, `payload.pass`; tokens in their texts are masked",
        tuple,
    )
    record_bytes: int = _setting("how much of a record is stored with an error", 65_536)
    retry_seconds: float = _setting("the pause before the first retry; it doubles with each", 30.0)
    retry_cap_seconds: float = _setting("the longest pause between retries", 3_600.0)

    def __post_init__(self) -> None:
        if self.record_bytes < 256:
            raise Invalid(f"capture.record_bytes must be at least 256, not {self.record_bytes}")
        if not 0 < self.retry_seconds <= self.retry_cap_seconds < float("inf"):
            raise Invalid(f"capture.retry_seconds must be positive and at most retry_cap_seconds, not {self.retry_seconds}")


@dataclass(frozen=True)
class CostSettings:
    """What compute costs. Without a price no cost is written."""

    usd_per_hour: float | None = _setting(
        "the price of an hour of the compute that steps run on: each step gets `query_cost_usd`, its own time at that price", None
    )

    def __post_init__(self) -> None:
        if self.usd_per_hour is not None and not 0 <= self.usd_per_hour < float("inf"):
            raise Invalid(f"costs.usd_per_hour cannot be {self.usd_per_hour}: write a price such as 2.5")


@dataclass(frozen=True)
class ControlSettings:
    """Where the control table is, and where the jobs that follow from it live."""

    table: str = _setting("the control table: a folder or URL of a Delta table, or `catalog.schema.table`", "control/etl_control")
    backend: str = _setting("where its jobs live: `local` or `databricks`", "local")
    folder: str | None = _setting("a folder of YAML files that `lakeledger monitor` follows", None)
    package: str = _setting("what tasks on Databricks install to run lakeledger: a requirement, or the path of a wheel", "lakeledger")
    settings: str | None = _setting("the settings file as tasks on Databricks find it, for example in a volume", None)

    def __post_init__(self) -> None:
        if self.backend not in ("local", "databricks"):
            raise Invalid(f"control.backend must be local or databricks, not {self.backend!r}")


@dataclass(frozen=True)
class AsthaSettings:
    """How events are delivered to subscribers."""

    retries: int = _setting("how often an event that failed is tried again before it is parked", 30)
    first_pause_seconds: float = _setting("the pause before the first retry; it doubles with each", 1.0)
    longest_pause_seconds: float = _setting("the longest pause between retries", 60.0)
    timeout_seconds: float = _setting("how long `on_event` may take; after that the subscriber is refreshed from the ledger", 300.0)
    breaker_failures: int = _setting(
        "after how many failures in a row a subscriber gets nothing more until `on_health` says that it is well", 5
    )
    threads: int = _setting("how many events one subscriber gets at the same time, each of another table", 4)
    lease_seconds: float = _setting("how long the process that delivers may be silent before another one takes over", 6.0)
    alarm_seconds: float = _setting("how long the oldest event may wait for a subscriber before that is reported as an error", 3_600.0)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (0 if name == "retries" else 1e-3) <= value < float("inf"):
                raise Invalid(f"astha.{name} must be positive, not {value}")
        if self.first_pause_seconds > self.longest_pause_seconds:
            raise Invalid(f"astha.first_pause_seconds must be at most longest_pause_seconds, not {self.first_pause_seconds}")


@dataclass(frozen=True)
class CompactionSettings:
    """When small files are written together, how big the new ones are, and where that happens by itself."""

    target_bytes: int = _setting("how big files are to be", 128_000_000)
    small_share: float = _setting("a file is small if it is smaller than this share of `target_bytes`", 0.75)
    min_files: int = _setting("how many small files a partition has at least before it is worth the work", 5)
    min_share: float = _setting("which share of the files of a partition is small at least before it is worth the work", 0.1)
    quiet_seconds: float = _setting("a partition that was written in the last so many seconds is left alone", 300.0)
    hot_files: int = _setting("unless it has so many small files", 20)
    round_bytes: int = _setting("how much one round reads of a table; the rest waits for the next one", 10_000_000_000)
    background: str = _setting(
        "whether components compact by themselves: `auto`, in a process that has a Spark session; `start`, which starts one; `off`", "auto"
    )
    workers: int = _setting("how many tables are compacted at the same time in the background", 1)

    def __post_init__(self) -> None:
        if self.target_bytes < 1:
            raise Invalid(f"compaction.target_bytes must be positive, not {self.target_bytes}")
        for name in ("small_share", "min_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise Invalid(f"compaction.{name} must be from 0 to 1, not {getattr(self, name)}")
        if self.min_files < 2:
            raise Invalid(f"compaction.min_files must be at least 2, not {self.min_files}: one file is not written together with itself")
        if not 0 <= self.quiet_seconds < float("inf"):
            raise Invalid(f"compaction.quiet_seconds must not be negative, not {self.quiet_seconds}")
        if self.hot_files < self.min_files:
            raise Invalid(f"compaction.hot_files must be at least min_files ({self.min_files}), not {self.hot_files}")
        if self.round_bytes < self.target_bytes:
            raise Invalid(f"compaction.round_bytes must be at least target_bytes ({self.target_bytes}), not {self.round_bytes}")
        if self.background not in ("auto", "start", "off"):
            raise Invalid(f"compaction.background must be auto, start or off, not {self.background!r}")
        if self.workers < 1:
            raise Invalid(f"compaction.workers must be at least 1, not {self.workers}")


@dataclass(frozen=True)
class Settings:
    """Everything a ledger needs to open. Relative paths are relative to `base`, the folder of the settings `file` if there is one."""

    url: str = _setting("the ledger: `sqlite:///file.db` or `postgresql://user@host/database`", DEFAULT_URL)
    warehouse: str | None = _setting("the folder or URL of the tables; by default `warehouse` beside a SQLite ledger", None)
    tenant: str = _setting("whose ledger this is: lower-case letters, digits, underscores", "default")
    metadata: str = _setting(
        "when other engines see a new version, as Iceberg: `sync`, in its own commit; `async`, soon after; `off`, never", "async"
    )
    publish: tuple[str, ...] = _setting(
        "as what other engines see tables: `iceberg`, `delta`, or both; Delta follows soon after the commit in either mode", ("iceberg",)
    )
    metadata_compression: str = _setting("how Iceberg's metadata files are compressed: `none` or `gzip`", "none")
    lease_seconds: float = _setting("how long a run may be silent before it counts as lost", 60.0)
    outage_seconds: float = _setting("how long work in progress waits for a ledger that is away before it gives up", 300.0)
    max_connections: int = _setting(
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
    subscribers: Mapping[str, str] = _setting('who hears of changes besides lakeledger\'s own components: `name = "module:Class"`', dict)
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
    if master := environment.get("LAKELEDGER_SPARK"):
        remote = master if master.startswith("sc://") else None
        changed["spark"] = replace(settings.spark, remote=remote, master=settings.spark.master if remote else master)
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
    """Spark's options as text. TOML reads an unquoted `spark.ui.enabled` as tables in tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _conf(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value).lower() if isinstance(value, bool) else str(value)
