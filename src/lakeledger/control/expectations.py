"""What is expected of a table's rows, as documents and suite files declare it: read into quality's own values, problems with file:line."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError, WithJsonSchema, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakeledger.control import document_files, yaml_text
from lakeledger.control.values import Line, Name, Part, Plain, Text
from lakeledger.errors import Invalid
from lakeledger.quality import Expectation, Suite
from lakeledger.quality.catalogue import KINDS
from lakeledger.quality.declaring import ACTIONS, NULLS, SEVERITIES

# Where the suite with an id is, if nothing else is said.
SUITE_FILE = "quality/{}.yaml"


def _expected(value: Any) -> Any:
    try:
        Expectation.of(value)
    except Invalid as error:
        raise PydanticCustomError("expectation", "{text}", {"text": str(error)}) from error
    return value


def _schema() -> dict[str, Any]:
    kinds = {kind.name: {"description": kind.doc} for kind in KINDS}
    shared = {
        "severity": {
            "enum": list(SEVERITIES),
            "description": "What it means if it fails; a rule that quarantines is a warning by default.",
        },
        "mostly": {"type": "number", "minimum": 0, "maximum": 1, "description": "The share of rows that must be as expected."},
        "max_unexpected": {"type": "integer", "minimum": 0, "description": "How many rows may be unexpected."},
        "where": {"type": "string", "description": "A SQL condition: other rows are not looked at."},
        "nulls": {"enum": list(NULLS), "description": "Whether NULL is not looked at, unexpected, or as good as any value."},
        "action": {"enum": list(ACTIONS), "description": "What becomes of rows that are unexpected."},
        "name": {"type": "string"},
        "description": {"type": "string"},
    }
    return {
        "type": "object",
        "description": "One expectation: its kind with what it is about, and what every expectation may say.",
        "properties": {**kinds, **shared},
        "minProperties": 1,
    }


Expected = Annotated[Plain, AfterValidator(_expected), WithJsonSchema(_schema())]


class QualityConfig(Part):
    """What is expected of the rows, here and in a suite file, and what becomes of a load of which a critical expectation fails."""

    dq_config_id: Name | None = Field(None, description="The name that results are kept by; alone it is that of quality/<id>.yaml.")
    suite: Line | None = Field(None, description="A suite file, relative to the document.")
    fail_on_error: bool | None = Field(
        None, description="Whether a failed critical expectation stops the load; by default as the suite says."
    )
    expectations: tuple[Expected, ...] = Field((), description="What is expected, besides what the suite says.")

    @field_validator("suite")
    @classmethod
    def _stays_below(cls, suite: str | None) -> str | None:
        return None if suite is None else checked_path(suite)

    @field_validator("dq_config_id")
    @classmethod
    def _is_no_path(cls, name: str | None) -> str | None:
        if name is not None and any(sign in name for sign in ("/", "\\", "..")):
            raise PydanticCustomError(
                "expectation", "dq_config_id {name} is a name, not a path: give the path as suite", {"name": repr(name)}
            )
        return name

    @model_validator(mode="after")
    def _says_something(self) -> QualityConfig:
        if not self.expectations and self.suite is None and self.dq_config_id is None:
            raise PydanticCustomError("expectation", "quality says nothing: give expectations, a suite or a dq_config_id")
        return self

    @property
    def suite_file(self) -> str | None:
        """The file that further expectations are in."""
        if self.suite is None and self.dq_config_id is not None and not self.expectations:
            return SUITE_FILE.format(self.dq_config_id)
        return self.suite

    @property
    def sets_aside(self) -> bool:
        """Whether a rule here sets rows aside."""
        return any(Expectation.of(each).action == "quarantine" for each in self.expectations)

    def read(self, base: Path, default: str) -> Suite:
        """The suite, with what its file says; the name of one that has none is the default. Raises Invalid, with file:line."""
        kept = load_suite(base / self.suite_file, base) if self.suite_file else None
        name = self.dq_config_id or (kept.dq_config_id if kept else default)
        is_strict = self.fail_on_error if self.fail_on_error is not None else bool(kept and kept.fail_on_error)
        own = tuple(Expectation.of(each) for each in self.expectations)
        return Suite(name, (*(kept.expectations if kept else ()), *own), is_strict, kept.description if kept else None)


class SuiteFile(Part):
    """One suite file."""

    dq_config_id: Name | None = Field(None, description="The name that results are kept by; by default that of the file.")
    description: Text | None = None
    fail_on_error: bool = False
    expectations: tuple[Expected, ...] = Field(min_length=1)


def checked_path(path: str) -> str:
    """A path that stays below where it begins, or what pydantic collects."""
    parts = PurePosixPath(path).parts
    if PurePosixPath(path).is_absolute() or ".." in parts or "\\" in path or "://" in path or path.startswith("~"):
        raise PydanticCustomError(
            "expectation", "suite {path} must lie beside the document: write it as quality/orders.yaml", {"path": repr(path)}
        )
    return path


def load_suite(path: Path, folder: Path | None = None) -> Suite:
    """Read and check a suite file; below a folder no link is followed out of it. Raises Invalid: each problem as file:line:column."""
    if not path.exists():
        raise Invalid(f"no suite {path}: write it, with `expectations:`, or correct the name in `quality:`")
    found = parse_suite(document_files.text(path, folder), str(path))
    return Suite(found.dq_config_id or path.stem, tuple(map(Expectation.of, found.expectations)), found.fail_on_error, found.description)


def parse_suite(text: str, name: str) -> SuiteFile:
    """Check the text of a suite file. Raises Invalid."""
    from lakeledger.control import problems
    from lakeledger.control.shapes import Shaped

    tree = yaml_text.read(text)
    found = list(tree.problems)
    if not found and not isinstance(tree.value, dict):
        found = [yaml_text.Problem(1, 1, "a suite is a mapping with `expectations:`")]
    if not found:
        try:
            return SuiteFile.model_validate(tree.value)
        except ValidationError as error:
            found = problems.problems(error, SuiteFile, Shaped(tree.value), tree)
    raise Invalid("\n".join(f"{name}:{each.line}:{each.column}: {each.text}" for each in sorted(set(found))))
