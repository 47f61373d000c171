"""The sections of the settings: how Spark and S3 are reached, how long things are kept, what is captured, delivered and compacted."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakeledger.errors import Invalid
from lakeledger.redaction import scrub

ENDPOINT = re.compile(r"https?://[^/?#@\s]+/?", re.IGNORECASE)


def setting(help: str, default: Any, *, repr: bool = True) -> Any:
    """A field with the sentence that the reference shows for it."""
    given: dict[str, Any] = {"default_factory" if callable(default) else "default": default}
    return field(**given, repr=repr, metadata={"help": help})


@dataclass(frozen=True)
class SparkSettings:
    """How to reach Spark."""

    master: str = setting("where Spark runs: `local[*]`, `spark://host:7077`", "local[*]")
    # Not shown: its parameters may hold a token.
    remote: str | None = setting("a Spark Connect server, `sc://host:15002`; then `master` is not used", None, repr=False)
    app_name: str = setting("the name Spark shows", "lakeledger")
    conf: Mapping[str, str] = setting("any Spark configuration, as a table of strings", dict)
    jars: tuple[str, ...] = setting(
        "what sessions that lakeledger starts take besides what the warehouse needs, of `lakeledger jars list`: `s3`, `postgresql`", tuple
    )
    wait_seconds: float = setting("how long work waits for an executor of the cluster before it fails", 30.0)

    def __post_init__(self) -> None:
        if not 0 < self.wait_seconds < float("inf"):
            raise Invalid(f"spark.wait_seconds must be positive, not {self.wait_seconds}")


@dataclass(frozen=True)
class S3Settings:
    """How S3 is reached, by lakeledger and by the Spark that it starts.

    Credentials are no settings: they are where every AWS tool finds them, in variables, in a profile or with the machine.
    """

    endpoint: str | None = setting("a server other than AWS: `http://127.0.0.1:9000`; by default AWS_ENDPOINT_URL", None)
    region: str | None = setting("the region; by default AWS_REGION, else that of the bucket", None)
    path_style: bool | None = setting(
        "whether the bucket stands in the path and not in the name of the host; by default it does where an endpoint is set", None
    )

    def __post_init__(self) -> None:
        if self.endpoint and not ENDPOINT.fullmatch(self.endpoint):
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

    runs_days: float = setting("runs that have ended, with their steps", 30.0)
    errors_days: float = setting("errors that were resolved or ignored", 30.0)
    dead_letters_days: float = setting("dead letters that were resolved or discarded", 30.0)
    positions_days: float = setting("earlier values of positions; forced ones are kept", 30.0)
    keyed_runs_days: float = setting(
        "runs with an idempotency key, which is refused for as long: at least as long as you repeat work", 90.0
    )
    records_days: float = setting("records, such as the volume of each load; archived schema versions are kept", 90.0)
    changes_days: float = setting("events of the change log; those that a subscriber has not read yet are kept", 7.0)
    schema_versions: int = setting("versions of a schema kept at hand; older ones become records", 10)
    quality_days: float = setting("results of quality checks, with each of their expectations", 90.0)

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

    mask: tuple[str, ...] = setting("columns whose values are never stored with an error, as patterns: `email`, `card_*`", tuple)
    unmask: tuple[str, ...] = setting(
        "columns that are no secrets although they are called so, as patterns: `token`, `payload.pass`; tokens in their texts are masked",
        tuple,
    )
    record_bytes: int = setting("how much of a record is stored with an error", 65_536)
    retry_seconds: float = setting("the pause before the first retry; it doubles with each", 30.0)
    retry_cap_seconds: float = setting("the longest pause between retries", 3_600.0)

    def __post_init__(self) -> None:
        if self.record_bytes < 256:
            raise Invalid(f"capture.record_bytes must be at least 256, not {self.record_bytes}")
        if not 0 < self.retry_seconds <= self.retry_cap_seconds < float("inf"):
            raise Invalid(f"capture.retry_seconds must be positive and at most retry_cap_seconds, not {self.retry_seconds}")


@dataclass(frozen=True)
class CostSettings:
    """What compute costs. Without a price no cost is written."""

    usd_per_hour: float | None = setting(
        "the price of an hour of the compute that steps run on: each step gets `query_cost_usd`, its own time at that price", None
    )

    def __post_init__(self) -> None:
        if self.usd_per_hour is not None and not 0 <= self.usd_per_hour < float("inf"):
            raise Invalid(f"costs.usd_per_hour cannot be {self.usd_per_hour}: write a price such as 2.5")


@dataclass(frozen=True)
class ControlSettings:
    """Where the control table is, and where the jobs that follow from it live."""

    table: str = setting("the control table: a folder or URL of a Delta table, or `catalog.schema.table`", "control/etl_control")
    backend: str = setting("where its jobs live: `local` or `databricks`", "local")
    folder: str | None = setting("a folder of YAML files that `lakeledger monitor` follows", None)
    package: str = setting("what tasks on Databricks install to run lakeledger: a requirement, or the path of a wheel", "lakeledger")
    settings: str | None = setting("the settings file as tasks on Databricks find it, for example in a volume", None)

    def __post_init__(self) -> None:
        if self.backend not in ("local", "databricks"):
            raise Invalid(f"control.backend must be local or databricks, not {self.backend!r}")


@dataclass(frozen=True)
class AsthaSettings:
    """How events are delivered to subscribers."""

    retries: int = setting("how often an event that failed is tried again before it is parked", 30)
    first_pause_seconds: float = setting("the pause before the first retry; it doubles with each", 1.0)
    longest_pause_seconds: float = setting("the longest pause between retries", 60.0)
    timeout_seconds: float = setting("how long `on_event` may take; after that the subscriber is refreshed from the ledger", 300.0)
    breaker_failures: int = setting(
        "after how many failures in a row a subscriber gets nothing more until `on_health` says that it is well", 5
    )
    threads: int = setting("how many events one subscriber gets at the same time, each of another table", 4)
    lease_seconds: float = setting("how long the process that delivers may be silent before another one takes over", 6.0)
    alarm_seconds: float = setting("how long the oldest event may wait for a subscriber before that is reported as an error", 3_600.0)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (0 if name == "retries" else 1e-3) <= value < float("inf"):
                raise Invalid(f"astha.{name} must be positive, not {value}")
        if self.first_pause_seconds > self.longest_pause_seconds:
            raise Invalid(f"astha.first_pause_seconds must be at most longest_pause_seconds, not {self.first_pause_seconds}")


@dataclass(frozen=True)
class CompactionSettings:
    """When small files are written together, how big the new ones are, and where that happens by itself."""

    target_bytes: int = setting("how big files are to be", 128_000_000)
    small_share: float = setting("a file is small if it is smaller than this share of `target_bytes`", 0.75)
    min_files: int = setting("how many small files a partition has at least before it is worth the work", 5)
    min_share: float = setting("which share of the files of a partition is small at least before it is worth the work", 0.1)
    quiet_seconds: float = setting("a partition that was written in the last so many seconds is left alone", 300.0)
    hot_files: int = setting("unless it has so many small files", 20)
    round_bytes: int = setting("how much one round reads of a table; the rest waits for the next one", 10_000_000_000)
    background: str = setting(
        "whether components compact by themselves: `auto`, in a process that has a Spark session; `start`, which starts one; `off`", "auto"
    )
    workers: int = setting("how many tables are compacted at the same time in the background", 1)

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
class RecordSettings:
    """Where records that are emitted outside of commits are kept, and what they say of where they come from."""

    repository: str = setting(
        "where they are kept: `sql`, in the ledger; `file:///folder`, `s3://bucket/folder` or another place for files", "sql"
    )
    bus: str = setting(
        "how emitted records travel to the repository: `none`, directly; `queue`, by a queue of the process; `kafka://host:9092/topic`",
        "none",
    )
    bus_options: Mapping[str, str] = setting("options of Kafka's clients, as a table of strings: `security.protocol` …", dict, repr=False)
    cluster: str | None = setting("the cluster that records name; by default what Databricks, EMR or Dataproc say, else the machine", None)
    workspace: str | None = setting("the workspace that records name; by default what Databricks or Kubernetes say", None)
    orchestrator: str | None = setting("who starts the work; by default Airflow, Dagster, Prefect or Databricks, if they did", None)
    schedule: str | None = setting("by which schedule; by default what the orchestrator says", None)

    def __post_init__(self) -> None:
        if not self.repository.strip():
            raise Invalid("records.repository cannot be empty: write sql, file:///folder or s3://bucket/folder")
        if self.bus not in ("none", "queue") and not self.bus.startswith("kafka://"):
            raise Invalid(f"records.bus must be none, queue or kafka://host:9092/topic, not {scrub(self.bus)!r}")
        if scrub(self.bus) != self.bus:
            raise Invalid(
                f"records.bus {scrub(self.bus)} holds a password, which errors and pages would show: put it into records.bus_options"
            )
        if scrub(self.repository) != self.repository:
            raise Invalid(f"records.repository {scrub(self.repository)} holds a password, which errors and pages would show: leave it out")


@dataclass(frozen=True)
class MirrorSettings:
    """The lake's own tables: runs, steps, quality results and keys of a tenant as tables of its lake."""

    enabled: bool = setting("whether they are made and kept without anybody asking", True)
    every_seconds: float = setting("how often they are refreshed at most", 60.0)
    schemas: str = setting("the folder with the project's own columns for them, as `pipeline_runs.json`", "configs/metadata/schemas")

    def __post_init__(self) -> None:
        if not 0 < self.every_seconds < float("inf"):
            raise Invalid(f"mirror.every_seconds must be positive, not {self.every_seconds}")


@dataclass(frozen=True)
class BandSettings:
    """What counts as usual: how tolerance bands are learned from what was measured before, and how much is always allowed."""

    min_points: int = setting("how many points there are at least before a band is believed; below that it is LEARNING", 7)
    scale: float = setting("how many robust standard deviations (1.4826 × MAD) around what is expected are usual", 3.5)
    floor: float = setting("the share of what is expected that is always allowed, so that a flat series does not alarm at once", 0.05)
    floor_rows: int = setting("how many rows more or fewer are always allowed", 10)
    seasonal_min: int = setting("how many points of a weekday there are at least before it is judged by its own kind", 4)
    tolerance: float = setting("while a band is LEARNING: the share of what is expected that is allowed", 0.5)
    shift_points: int = setting("after how many points in a row on the same side of the band the new level counts", 14)
    window_days: float = setting("how far back a band looks", 90.0)
    time_zone: str = setting("where days and weekdays begin, as in `Europe/Zurich`", "UTC")

    def __post_init__(self) -> None:
        if self.min_points < 3:
            raise Invalid(f"bands.min_points must be at least 3, not {self.min_points}: fewer points have no spread")
        if self.seasonal_min < 2:
            raise Invalid(f"bands.seasonal_min must be at least 2, not {self.seasonal_min}: one point has no spread")
        if self.shift_points < self.min_points:
            raise Invalid(f"bands.shift_points must be at least min_points ({self.min_points}), not {self.shift_points}")
        for name in ("scale", "tolerance", "window_days"):
            if not 0 < getattr(self, name) < float("inf"):
                raise Invalid(f"bands.{name} must be positive, not {getattr(self, name)}")
        for name in ("floor", "floor_rows"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise Invalid(f"bands.{name} must not be negative, not {getattr(self, name)}")
        self._check_time_zone()

    def _check_time_zone(self) -> None:
        if self.time_zone == "UTC":
            return
        from zoneinfo import ZoneInfo

        try:
            ZoneInfo(self.time_zone)
        except (KeyError, ValueError, OSError) as error:
            raise Invalid(f"bands.time_zone {self.time_zone!r} is not known: write a name such as Europe/Zurich") from error
