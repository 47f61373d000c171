"""The YAML that declares reconciliations: `reconciliations:` in a file of its own, read by control's machinery, with file:line:column."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakeledger import clock, codec
from lakeledger.config import suggest
from lakeledger.control import document_files, documents, problems, variables, yaml_text
from lakeledger.control.loads import DeltaConfig, FilesConfig, IcebergConfig, IngestConfig, JdbcConfig, TargetConfig
from lakeledger.control.modules import refuse_doubled
from lakeledger.control.shapes import Shaped
from lakeledger.control.values import Columns, Name, Part, Text
from lakeledger.errors import Invalid, NotFound
from lakeledger.recon.model import KEYED, Check, CheckType, Frequency, Probe, Reconciliation, Thresholds

if TYPE_CHECKING:
    from lakeledger.pipelines import Context
    from lakeledger.pipelines.sources import Source
    from lakeledger.pipelines.sources.jdbc import JdbcSource

SIDES = ("table", "query", "files", "jdbc", "delta", "iceberg")


class SideConfig(Part):
    """One side: a ledger table, a query over ledger tables, files, a table or a query of a database, a Delta or an Iceberg table."""

    table: Name | None = Field(None, description="A ledger table.")
    version: int | Text | None = Field(None, description="With table: its version, or the name of a tag; now without it.")
    query: Text | None = Field(None, description="A SELECT over ledger tables.")
    files: FilesConfig | None = None
    jdbc: JdbcConfig | None = None
    delta: DeltaConfig | None = None
    iceberg: IcebergConfig | None = None

    @model_validator(mode="before")
    @classmethod
    def _may_be_a_name(cls, value: Any) -> Any:
        return {"table": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _is_one_thing(self) -> SideConfig:
        given = [name for name in SIDES if getattr(self, name) is not None]
        if len(given) != 1:
            told = f"{' and '.join(given)} are given" if given else "nothing is given"
            raise PydanticCustomError("task", "a side is one of {all}: {told}", {"all": ", ".join(SIDES), "told": told})
        if self.version is not None and self.table is None:
            raise PydanticCustomError("task", "only a ledger table has a version here", {})
        return self

    @classmethod
    def of(cls, value: Any) -> SideConfig:
        """A side as a program declares it: the name of a table, or a mapping as in YAML. Raises Invalid."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise Invalid(_all(error, cls)) from error

    def document(self) -> dict[str, Any]:
        """What it is, for people; credentials are references here."""
        found = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
        for part in found.values():
            if isinstance(part, dict):
                for name in ("password", "user", "options", "storage_options", "catalog"):
                    part.pop(name, None)
        return found

    def jdbc_source(self, context: Context, role: str) -> JdbcSource:
        """The database that it is in."""
        return self._open(context, documents.JdbcSource(source_type="jdbc", source_config=self.jdbc, **_loading(role)))  # type: ignore[arg-type,return-value]

    def open_source(self, context: Context, role: str) -> Source:
        """What reads all of its rows."""
        from lakeledger.pipelines import references

        whole: dict[str, Any] = _loading(role)
        declared: Any
        if self.files is not None:
            declared = documents.FilesSource(source_type="files", source_config=self.files, **whole)
        elif self.delta is not None:
            declared = documents.DeltaSource(source_type="delta", source_config=self.delta, **whole)
        elif self.iceberg is not None:
            declared = documents.IcebergSource(source_type="iceberg", source_config=self.iceberg, **whole)
        else:
            return self.jdbc_source(context, role)
        return self._open(context, references.resolved(declared, {}))

    def _open(self, context: Context, declared: Any) -> Source:
        from lakeledger.pipelines.sources.opening import open_source

        return open_source(context, "recon", declared)


def _loading(role: str) -> dict[str, Any]:
    """What a source is declared with besides, to be read whole."""
    return {
        "source_id": role,
        "target_config": TargetConfig.model_validate({"table": role}),
        "transformation_config": IngestConfig.model_validate({"load_type": "full"}),
    }


def _span(value: Any) -> Any:
    """A number of seconds, or a time span as people write it."""
    span = clock.parse_span(value) if isinstance(value, str) else None
    return span.total_seconds() if span is not None else value


Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[Amount, BeforeValidator(_span)]


class CheckConfig(Part):
    """What every check may say. Without a threshold the sides must be equal."""

    name: Name | None = Field(None, description="Its name; by default its type and column.")
    threshold: Seconds | None = Field(None, description="How far apart the sides may be.")
    threshold_percent: Amount | None = Field(None, description="The same, as a share of the source.")
    warn: Seconds | None = Field(None, description="From which difference on it warns.")
    warn_percent: Amount | None = Field(None, description="The same, as a share of the source.")
    tolerance: Literal["band"] | None = Field(None, description="band: what its own history allows is allowed, too.")
    on_fail: bool | Name | None = Field(None, description="Only if another check failed: any (true), or the one by that name.")
    timeout_seconds: Seconds | None = Field(None, description="How long it may take.")

    @property
    def thresholds(self) -> Thresholds:
        return Thresholds(self.threshold, self.threshold_percent, self.warn, self.warn_percent, band=self.tolerance == "band")


class ColumnCheck(CheckConfig):
    """A check of one column."""

    column: Text


class GroupCheck(CheckConfig):
    """Rows by the values of columns. NULL is a value."""

    columns: Columns = Field(description="The columns to group by.")


class DigestCheck(CheckConfig):
    """All cells, or all keys, by digests, down to the rows that differ."""

    columns: Columns = Field((), description="The columns to compare; by default those of the reconciliation.")
    probes: tuple[dict[Literal["year", "year_month", "day"], Text], ...] = Field(
        (), description="Periods by which differences are narrowed down: {year_month: ordered_at}, then {day: ordered_at}."
    )
    samples: int = Field(20, ge=0, le=1_000, description="How many differing rows are kept, side by side.")

    @field_validator("probes")
    @classmethod
    def _has_one_period(cls, probes: tuple[dict[str, str], ...]) -> tuple[dict[str, str], ...]:
        if wrong := [each for each in probes if len(each) != 1]:
            raise PydanticCustomError(
                "task", "a probe is one period of one column, such as year_month: ordered_at, not {it}", {"it": str(wrong[0])}
            )
        return probes


class KeyCheck(CheckConfig):
    """A check of the keys."""


class Checks(Part):
    """One check, under its type."""

    count: CheckConfig | None = None
    group_count: GroupCheck | None = None
    sum: ColumnCheck | None = None
    min: ColumnCheck | None = None
    max: ColumnCheck | None = None
    avg: ColumnCheck | None = None
    null_rate: ColumnCheck | None = None
    checksum: DigestCheck | None = None
    key_set: DigestCheck | None = None
    pk_uniqueness: KeyCheck | None = None
    schema_: CheckConfig | None = Field(None, alias="schema")
    freshness: ColumnCheck | None = None

    @model_validator(mode="before")
    @classmethod
    def _may_be_bare(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {value: {}}
        return {name: {} if part is None else part for name, part in value.items()} if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _is_one(self) -> Checks:
        if len(self.model_fields_set) != 1:
            raise PydanticCustomError("task", "an entry of `checks` is one check: {known}", {"known": ", ".join(_TYPES)})
        return self

    def check(self) -> Check:
        """The check as it is carried out."""
        (name,) = self.model_fields_set
        said: Any = getattr(self, name)
        type_: CheckType = name.removesuffix("_")  # type: ignore[assignment]
        column, columns = getattr(said, "column", None), tuple(getattr(said, "columns", ()))
        about = [type_, *([column] if column else columns if type_ == "group_count" else ())]
        on_fail = {True: "*", False: None, None: None}.get(said.on_fail, said.on_fail)
        probes = tuple(Probe(period, by) for each in getattr(said, "probes", ()) for period, by in each.items())
        return Check(
            said.name or "_".join(about), type_, column, columns, said.thresholds, on_fail, probes, said.timeout_seconds,
            getattr(said, "samples", 20),
        )  # fmt: skip


_TYPES = [field.alias or name for name, field in Checks.model_fields.items()]


class ReconciliationConfig(Part):
    """What is compared with what, and how."""

    name: Name
    source: SideConfig
    target: SideConfig
    keys: Columns = Field((), description="The columns that identify a row.")
    columns: Columns = Field((), description="The columns that checksums compare; all without it.")
    exclude: Columns = Field((), description="Columns that are left out.")
    frequency: Frequency = Field("adhoc", description="How often it is due; adhoc is whenever it is asked for.")
    timeout_seconds: Seconds | None = Field(None, description="How long each check may take, unless it says so itself.")
    max_parallel: int = Field(4, ge=1, le=64, description="How many questions are asked at once.")
    max_rows: int = Field(100_000, ge=1, le=10_000_000, description="How many rows of each side are fetched at most to find what differs.")
    checks: tuple[Checks, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _fits_together(self) -> ReconciliationConfig:
        made = [each.check() for each in self.checks]
        names = [each.name for each in made]
        refuse_doubled(names, "name", "among the checks")
        if keyless := [each.name for each in made if each.type in KEYED and not self.keys]:
            raise PydanticCustomError("task", "{check} needs `keys`: the columns that identify a row", {"check": keyless[0]})
        for each in made:
            if each.on_fail not in (None, "*", *names):
                told = {"check": each.name, "other": repr(each.on_fail), "hint": suggest(each.on_fail or "", names)}
                raise PydanticCustomError("task", "{check} runs if {other} failed, which is no check here{hint}", told)
        return self

    def reconciliation(self) -> Reconciliation:
        """As it is carried out."""
        return Reconciliation(
            self.name, self.source, self.target, tuple(each.check() for each in self.checks), tuple(self.keys), tuple(self.columns),
            tuple(self.exclude), self.frequency, self.timeout_seconds, self.max_parallel, self.max_rows,
        )  # fmt: skip


class Document(Part):
    """One YAML file."""

    reconciliations: list[ReconciliationConfig]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Document:
        refuse_doubled([each.name for each in self.reconciliations], "name", "in the document")
        return self


def load(path: Path | str, given: Mapping[str, Any] | None = None) -> list[Reconciliation]:
    """The reconciliations of a file. Raises Invalid: every problem as `file:line:column: what to do`."""
    return parse(document_files.text(Path(path), hint="docs/guides/reconciliation.md has a first one"), str(path), given)


def parse(text: str, name: str, given: Mapping[str, Any] | None = None) -> list[Reconciliation]:
    """The reconciliations that a text declares. Raises Invalid."""
    tree = yaml_text.read(text)
    if not isinstance(tree.value, dict):
        found = list(tree.problems) or [yaml_text.Problem(1, 1, "the document must be a mapping with `reconciliations:`")]
        raise Invalid(_told(name, found))
    value, unknown = variables.substitute(tree.value, given)
    found = [*tree.problems, *(tree.problem(path, told) for path, told in unknown)]
    try:
        document = Document.model_validate(value)
    except ValidationError as error:
        raise Invalid(_told(name, [*found, *problems.problems(error, Document, Shaped(value), tree)])) from error
    if found:
        raise Invalid(_told(name, found))
    return [each.reconciliation() for each in document.reconciliations]


def of_mapping(value: Mapping[str, Any]) -> Reconciliation:
    """A reconciliation that a program declares as in YAML. Raises Invalid."""
    try:
        return ReconciliationConfig.model_validate(dict(value)).reconciliation()
    except ValidationError as error:
        raise Invalid(_all(error, ReconciliationConfig)) from error


def chosen(found: list[Reconciliation], names: tuple[str, ...]) -> list[Reconciliation]:
    """Those of these names, or all. Raises NotFound."""
    by_key = {codec.fold(each.name): each for each in found}
    for name in names:
        if codec.fold(name) not in by_key:
            known = [each.name for each in found]
            raise NotFound(f"no reconciliation {name!r} in the document: it has {', '.join(known)}{suggest(name, known)}")
    return [by_key[codec.fold(name)] for name in dict.fromkeys(names)] if names else found


def _told(name: str, found: list[yaml_text.Problem]) -> str:
    return "\n".join(f"{name}:{each.line}:{each.column}: {each.text}" for each in sorted(set(found)))


def _all(error: ValidationError, model: type[Part]) -> str:
    told = (
        problems.explain(item, model, Shaped({}), ".".join(str(part) for part in item["loc"])) for item in error.errors(include_url=False)
    )
    return "; ".join(told)
