"""Record what Great Expectations says of known rows: `.venv/bin/python tests/golden/record_great_expectations.py`.

It gets an environment of its own, with the same Spark. Written are the rows, the suite as Great Expectations itself writes it (of 1.x, and
as 0.18 wrote it), and its verdicts on all rows, on none, and on rows that are NULL throughout.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GOLDEN = HERE / "great_expectations"
NEW, OLD = "great_expectations==1.24.1", "great_expectations==0.18.22"
SCHEMA = (
    "id bigint, customer string, line int, name string, email string, status string, quantity int, ratio double, "
    "amount decimal(12,2), paid decimal(12,2), day date, shipped date, at timestamp, note string"
)
ROWS = 300
KEPT = ("element_count", "missing_count", "unexpected_count", "observed_value")
Expected = tuple[str, dict[str, Any], str]

EXPECTED: list[Expected] = [
    ("expect_column_values_to_not_be_null", {"column": "status"}, "critical"),
    ("expect_column_values_to_not_be_null", {"column": "id", "mostly": 0.99}, "critical"),
    ("expect_column_values_to_not_be_null", {"column": "name", "mostly": 0.9}, "warning"),
    ("expect_column_values_to_not_be_null", {"column": "ratio", "mostly": 0.95}, "warning"),
    ("expect_column_values_to_be_null", {"column": "note"}, "info"),
    ("expect_column_values_to_be_in_set", {"column": "status", "value_set": ["new", "paid", "shipped"]}, "critical"),
    ("expect_column_values_to_be_in_set", {"column": "ratio", "value_set": [0, 0.25, 0.5, 0.75], "mostly": 0.5}, "critical"),
    ("expect_column_values_to_be_in_set", {"column": "day", "value_set": ["2024-02-28", "2024-02-29", "2024-03-01"]}, "warning"),
    ("expect_column_values_to_not_be_in_set", {"column": "ratio", "value_set": [0]}, "critical"),
    ("expect_column_values_to_not_be_in_set", {"column": "name", "value_set": ["", "nobody"], "mostly": 0.5}, "info"),
    ("expect_column_values_to_be_between", {"column": "ratio", "min_value": 0}, "critical"),
    ("expect_column_values_to_be_between", {"column": "ratio", "max_value": 1, "mostly": 0.9}, "critical"),
    (
        "expect_column_values_to_be_between",
        {"column": "ratio", "min_value": 0, "max_value": 0.75, "strict_min": True, "strict_max": True},
        "warning",
    ),
    ("expect_column_values_to_be_between", {"column": "amount", "min_value": 0, "max_value": 99.99, "mostly": 0.8}, "critical"),
    ("expect_column_values_to_be_between", {"column": "day", "min_value": "2024-02-10", "max_value": "2024-02-29"}, "critical"),
    (
        "expect_column_values_to_be_between",
        {
            "column": "at",
            "min_value": "2024-01-01T00:00:00",
            "max_value": "2024-03-01T12:00:00",
            "strict_max": True,
            "row_condition": 'col("status") == "paid"',
            "condition_parser": "great_expectations",
        },
        "critical",
    ),
    (
        "expect_column_values_to_be_between",
        {
            "column": "quantity",
            "min_value": 3,
            "row_condition": "status in ('paid', 'shipped') and day is not null",
            "condition_parser": "spark",
        },
        "critical",
    ),
    ("expect_column_values_to_match_regex", {"column": "email", "regex": "@example[.]"}, "critical"),
    ("expect_column_values_to_match_regex", {"column": "name", "regex": "^..$", "mostly": 0.2}, "info"),
    ("expect_column_values_to_not_match_regex", {"column": "email", "regex": "\\s", "mostly": 0.97}, "warning"),
    ("expect_column_value_lengths_to_be_between", {"column": "name", "min_value": 0, "max_value": 7, "strict_min": True}, "critical"),
    (
        "expect_column_value_lengths_to_equal",
        {"column": "customer", "value": 4, "row_condition": "customer like 'c%'", "condition_parser": "spark"},
        "critical",
    ),
    ("expect_column_pair_values_a_to_be_greater_than_b", {"column_A": "shipped", "column_B": "day", "or_equal": True}, "critical"),
    (
        "expect_column_pair_values_a_to_be_greater_than_b",
        {"column_A": "amount", "column_B": "paid", "ignore_row_if": "either_value_is_missing", "mostly": 0.1},
        "warning",
    ),
    ("expect_column_pair_values_to_be_equal", {"column_A": "amount", "column_B": "paid", "mostly": 0.5}, "warning"),
    ("expect_column_values_to_be_unique", {"column": "id", "mostly": 0.98}, "critical"),
    ("expect_column_values_to_be_unique", {"column": "ratio"}, "info"),
    ("expect_compound_columns_to_be_unique", {"column_list": ["customer", "line"]}, "critical"),
    (
        "expect_compound_columns_to_be_unique",
        {"column_list": ["customer", "line"], "ignore_row_if": "any_value_is_missing", "mostly": 0.9},
        "critical",
    ),
    ("expect_compound_columns_to_be_unique", {"column_list": ["customer", "line", "day"], "ignore_row_if": "never"}, "critical"),
    ("expect_column_unique_value_count_to_be_between", {"column": "ratio", "min_value": 5, "max_value": 6}, "warning"),
    (
        "expect_column_proportion_of_unique_values_to_be_between",
        {"column": "id", "min_value": 0.9, "max_value": 1, "strict_max": True},
        "info",
    ),
    ("expect_table_row_count_to_be_between", {"min_value": 1, "max_value": 300}, "critical"),
    (
        "expect_table_row_count_to_equal",
        {"value": 75, "row_condition": 'col("status") == "paid"', "condition_parser": "great_expectations"},
        "critical",
    ),
    ("expect_column_min_to_be_between", {"column": "ratio", "min_value": 0, "max_value": 0}, "critical"),
    ("expect_column_max_to_be_between", {"column": "ratio", "min_value": 0}, "critical"),
    (
        "expect_column_max_to_be_between",
        {"column": "at", "min_value": "2024-02-01T00:00:00", "max_value": "2024-12-31T00:00:00"},
        "critical",
    ),
    ("expect_column_mean_to_be_between", {"column": "quantity", "min_value": 2, "max_value": 5}, "warning"),
    ("expect_column_sum_to_be_between", {"column": "amount", "min_value": 0, "max_value": 15000, "strict_max": True}, "critical"),
    ("expect_column_stdev_to_be_between", {"column": "quantity", "min_value": 1, "max_value": 3}, "info"),
    ("expect_column_to_exist", {"column": "email", "column_index": 4}, "critical"),
    ("expect_column_to_exist", {"column": "Email"}, "info"),
    ("expect_table_column_count_to_equal", {"value": 14}, "critical"),
    ("expect_table_columns_to_match_set", {"column_set": ["id", "status", "amount"], "exact_match": False}, "critical"),
    ("expect_table_columns_to_match_ordered_list", {"column_list": ["id", "status", "amount"]}, "info"),
    ("expect_column_values_to_be_of_type", {"column": "amount", "type_": "DecimalType"}, "critical"),
    ("expect_column_values_to_be_in_type_list", {"column": "day", "type_list": ["StringType", "TimestampType"]}, "warning"),
]


def row(number: int) -> dict[str, Any]:
    """One row. Its columns repeat at lengths that have no factor in common, so that NULLs and odd values meet in many ways."""
    names = ["Ada", "", "Bob", "😀b", None, "Käthe 🎉", "ß", "nobody", "Anna-Maria von", "Zoë"]
    ratios = [0.0, -0.0, 0.25, math.nan, None, 0.5, 0.75]
    day = f"2024-02-{1 + number % 29:02d}"
    amount = None if number % 17 == 0 else Decimal(number * 37 % 12_345) / 100
    paid = None if number % 23 == 0 else amount if number % 3 else Decimal(number) / 10
    return {
        "id": None if number == 250 else number - (number == 100),
        "customer": None if number % 31 == 0 else f"{'c' if number % 3 else 'd'}{number % 30:03d}",
        "line": None if number % 11 == 0 else number % 7,
        "name": names[number % 10],
        "email": f"user{number}@example.{'com' if number % 2 else 'org'}" if number % 13 else "no address" if number % 2 else None,
        "status": ["new", "paid", "shipped", "lost"][number % 4],
        "quantity": None if number % 19 == 0 else number % 8,
        "ratio": ratios[number % 7],
        "amount": None if amount is None else float(amount),
        "paid": None if paid is None else float(paid),
        "day": None if number % 37 == 0 else day,
        "shipped": None if number % 4 < 2 else f"2024-03-{1 + number % 28:02d}" if number % 41 else "2024-01-01",
        "at": None if number % 29 == 0 else f"{day}T{number % 24:02d}:{number % 60:02d}:00.{number:06d}Z",
        "note": "seen" if number == 7 else None,
    }


def write_rows() -> None:
    nothing = dict.fromkeys(row(1))
    contents = {"rows": [row(number) for number in range(1, ROWS + 1)], "no_rows": [], "null_rows": [nothing] * 4}
    for name, rows in contents.items():
        (GOLDEN / f"{name}.jsonl").write_text("".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in rows), encoding="utf-8")
    (GOLDEN / "schema.txt").write_text(f"{SCHEMA}\n")


def save(name: str, value: object) -> None:
    (GOLDEN / name).write_text(json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """An observed value as JSON has it; a NaN is text."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return (
        value
        if isinstance(value, bool | int | float | str | None)
        else [plain(each) for each in value]
        if isinstance(value, list)
        else str(value)
    )


def validate() -> None:
    """Within the environment: let Great Expectations 1.x say what it thinks of the rows."""
    import great_expectations as gx  # type: ignore[import-not-found]
    from great_expectations.expectations.registry import get_expectation_impl  # type: ignore[import-not-found]
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    built = [
        get_expectation_impl(kind)(**kwargs, severity=severity, meta={"number": n}) for n, (kind, kwargs, severity) in enumerate(EXPECTED)
    ]
    suite = gx.ExpectationSuite(name="orders", expectations=built)
    save("suite.json", suite.to_json_dict())
    context = gx.get_context(mode="ephemeral")
    source = context.data_sources.add_spark("spark")
    verdicts: dict[str, Any] = {"great_expectations": metadata.version("great_expectations"), "pyspark": spark.version}
    for name in ("rows", "no_rows", "null_rows"):
        frame = spark.read.schema(SCHEMA).json(str(GOLDEN / f"{name}.jsonl"))
        asset = source.add_dataframe_asset(name)
        batch = asset.add_batch_definition_whole_dataframe("all").get_batch(batch_parameters={"dataframe": frame})
        found: dict[int, dict[str, Any]] = {}
        for each in batch.validate(suite, result_format="BASIC").results:
            counts = {key: plain(each.result[key]) for key in KEPT if key in each.result}
            found[each.expectation_config.meta["number"]] = {"success": each.success, **counts}
            if any("exception_message" in str(info) and info.get("raised_exception") for info in [each.exception_info or {}]):
                raise AssertionError(f"{each.expectation_config.type}: {each.exception_info}")
        verdicts[name] = [found[number] for number in range(len(EXPECTED))]
    save("verdicts.json", verdicts)


def write_old() -> None:
    """Within an environment of 0.18: write the suite as it did."""
    from great_expectations.core import ExpectationConfiguration, ExpectationSuite  # type: ignore[import-not-found]

    suite = ExpectationSuite(expectation_suite_name="orders")
    for number, (kind, kwargs, _) in enumerate(EXPECTED):
        suite.add_expectation(ExpectationConfiguration(expectation_type=kind, kwargs=kwargs, meta={"number": number}), match_type="runtime")
    save("suite_0_18.json", suite.to_json_dict())


def environment(folder: Path, *packages: str) -> Path:
    """The Python of an environment with these packages, made if it is not there."""
    if not folder.exists():
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--quiet", folder], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", folder / "bin/python", *packages], check=True)
    return folder / "bin/python"


def main() -> None:
    match sys.argv[1:]:
        case ["--validate"]:
            validate()
        case ["--old"]:
            write_old()
        case given:
            with tempfile.TemporaryDirectory() as work:
                folder = Path(given[0]) if given else Path(work)
                GOLDEN.mkdir(exist_ok=True)
                write_rows()
                spark = f"pyspark=={metadata.version('pyspark')}"
                subprocess.run([environment(folder / "new", NEW, spark, "pandas<3"), __file__, "--validate"], check=True, cwd=work)
                subprocess.run([environment(folder / "old", OLD), __file__, "--old"], check=True, cwd=work)


if __name__ == "__main__":
    main()
