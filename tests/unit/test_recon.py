"""How reconciliations are declared, judged and planned, without a side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from lakeledger import Invalid, NotFound
from lakeledger.recon import Check, Status, Thresholds, documents
from lakeledger.recon.canonical import Column, Pair, decode, encode, pair, row_text
from lakeledger.recon.digests import compare
from lakeledger.recon.judging import compare as judged
from lakeledger.recon.judging import judge
from lakeledger.recon.running import bounded, choose
from lakeledger.recon.splits import ByRange, period_ends, runs

YAML = """\
variables: {schema: public}
reconciliations:
  - name: orders
    source: {jdbc: {url: "jdbc:postgresql://db/shop", user: me, password: "{{env.PG}}", table: "${var.schema}.orders"}}
    target: {table: silver.orders, version: 3}
    keys: id
    frequency: daily
    timeout_seconds: 10m
    checks:
      - count: {threshold: 0, threshold_percent: 0.1}
      - sum: {column: amount, threshold_percent: 0.01, warn: 5, tolerance: band}
      - schema
      - freshness: {column: at, threshold: 2h}
      - checksum: {probes: [{year_month: at}, {day: at}], on_fail: true}
"""


def test_a_document_declares_what_is_carried_out() -> None:
    (made,) = documents.parse(YAML, "recon.yaml")
    assert (made.name, made.keys, made.frequency, made.timeout_seconds) == ("orders", ("id",), "daily", 600)
    assert made.source.jdbc.table == "public.orders"
    assert [each.name for each in made.checks] == ["count", "sum_amount", "schema", "freshness_at", "checksum"]
    assert made.checks[1].thresholds == Thresholds(None, 0.01, 5, None, band=True)
    assert made.checks[3].thresholds.absolute == 7_200
    assert made.checks[4].on_fail == "*"
    assert [(each.period, each.column) for each in made.checks[4].probes] == [("year_month", "at"), ("day", "at")]
    assert "PG" not in str(made.source.document())


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("keys: id", "kesy: id", "recon.yaml:6:5: unknown key 'kesy'; did you mean 'keys'?"),
        ("sum: {column", "sum: {colum", "recon.yaml:11:15: unknown key 'colum'; did you mean 'column'?"),
        ("- schema", "- scheam", "unknown key 'scheam'; did you mean 'schema'?"),
        ("    target: {table: silver.orders, version: 3}\n", "", "reconciliations.target is missing"),
        ("target: {table: silver.orders, version: 3}", "target: {table: a.b, query: q}", "recon.yaml:5:5: a side is one of table, query"),
        ("frequency: daily", "frequency: dayly", "recon.yaml:7:5: reconciliations.frequency: input should be 'daily'"),
        ("on_fail: true", "on_fail: conut", "checksum runs if 'conut' failed, which is no check here; did you mean 'count'?"),
        ("keys: id", "columns: id", "checksum needs `keys`"),
        ('"{{env.PG}}"', "clear", "the password stands in clear"),
        ("- schema", "- count: {}", "count"),
        ("{day: at}", "{hour: at}", "recon.yaml:14:"),
        ("threshold: 0,", "threshold: -1,", "recon.yaml:10:17: reconciliations.checks.count.threshold: input should be greater"),
        ("${var.schema}", "${var.scheme}", "unknown variable 'scheme'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place_and_what_to_do(before: str, after: str, told: str) -> None:
    assert before in YAML
    with pytest.raises(Invalid) as refused:
        documents.parse(YAML.replace(before, after), "recon.yaml")
    assert told in str(refused.value)


def test_a_name_that_is_not_declared_is_refused() -> None:
    found = documents.parse(YAML, "recon.yaml")
    assert documents.chosen(found, ("ORDERS",)) == found
    with pytest.raises(NotFound, match=r"no reconciliation 'ordres' in the document: it has orders; did you mean 'orders'\?"):
        documents.chosen(found, ("ordres",))


@pytest.mark.parametrize(
    ("difference", "percent", "thresholds", "status"),
    [
        (0, 0, Thresholds(), "pass"),
        (1, 0.01, Thresholds(), "fail"),
        (5, 0.05, Thresholds(0, 0.1), "pass"),
        (5, 50, Thresholds(5, 0.1), "pass"),
        (6, 50, Thresholds(5, 0.1), "fail"),
        (-6, 50, Thresholds(5), "fail"),
        (5, None, Thresholds(percent=100), "fail"),
        (3, 3, Thresholds(5, None, 2), "warn"),
        (3, 3, Thresholds(5, None, None, 3), "pass"),
        (99, 99, Thresholds(warn_absolute=1), "warn"),
    ],
)
def test_within_either_threshold_is_within(difference: float, percent: float | None, thresholds: Thresholds, status: str) -> None:
    assert judge(difference, percent, thresholds) == status


def test_a_band_allows_what_is_usual_and_warns_of_what_is_not() -> None:
    assert judge(50, 5, Thresholds(band=True), "pass") == "pass"
    assert judge(50, 5, Thresholds(band=True), "warn") == "warn"
    assert judge(50, 5, Thresholds(10, band=True), "warn") == "fail"
    assert judge(5, 0.5, Thresholds(10, band=True), "warn") == "warn"


def test_no_value_equals_only_no_value_and_zero_is_one() -> None:
    assert judged(None, None, Thresholds()).status == "pass"
    assert judged(None, 0, Thresholds(10, 100)).status == "fail"
    assert judged(0, 0, Thresholds()).percent == 0
    assert judged(0, 1, Thresholds(percent=100)).status == "fail"
    assert judged(0.1 + 0.2, 0.3, Thresholds(), is_float=True).difference == 0


CHAIN = [
    Check("count", "count"),
    Check("groups", "group_count", on_fail="count"),
    Check("keys", "key_set", on_fail="groups"),
    Check("all", "checksum", on_fail="*"),
    Check("a", "count", on_fail="b"),
    Check("b", "count", on_fail="a"),
]


def test_checks_on_failure_wait_for_theirs_and_those_in_a_circle_are_skipped() -> None:
    names = [each.name for each in choose(CHAIN, {})[0]]
    assert names == ["count"]
    ready, skipped = choose(CHAIN[1:], {"count": Status.FAIL})
    assert ([each.name for each in ready], skipped) == (["groups"], [])
    ready, skipped = choose(CHAIN[2:], {"count": Status.FAIL, "groups": Status.ERROR})
    assert ([each.name for each in ready], skipped) == ([], [(CHAIN[2], "groups did not fail")])
    ready, skipped = choose(CHAIN[3:], {"count": Status.FAIL})
    assert [(each.name, why) for each, why in skipped] == [("a", "b waits for it in turn"), ("b", "a waits for it in turn")]
    assert [each.name for each in choose(CHAIN[3:4], {"count": Status.FAIL})[0]] == ["all"]
    assert choose(CHAIN[3:4], {"count": Status.PASS}) == ([], [(CHAIN[3], "no other check failed")])


ROWS = some.lists(some.tuples(some.sampled_from([None, "1", "2", "3"]), some.sampled_from([None, "", "NULL", "x"])), max_size=12)


@given(ROWS, ROWS)
def test_differences_turn_one_side_into_the_other(source: list[tuple[str | None, ...]], target: list[tuple[str | None, ...]]) -> None:
    found = compare(source, target, 1)
    left = list(source)
    for row in [*found.missing, *(before for before, _ in found.changed)]:
        left.remove(row)
    left += [*found.extra, *(after for _, after in found.changed)]
    assert sorted(left, key=repr) == sorted(target, key=repr)
    assert all(before[0] == after[0] and before != after for before, after in found.changed)


@given(some.integers(-(2**40), 2**40), some.integers(0, 2**40), some.integers(1, 10**6), some.integers(-(2**41), 2**41))
def test_every_key_is_in_exactly_one_range(bottom: int, span: int, rows: int, key: int) -> None:
    column = Column("id", "bigint", "number", 0, is_integer=True)
    split = ByRange.of(Pair("id", column, column, "number"), bottom, bottom + span, rows)
    assert split
    part = (max(min(key, split.top), split.bottom) - split.bottom) // split.width
    ((low, high),) = runs(split, [part])
    assert low is None or low <= key
    assert high is None or key < high


def test_neighbouring_ranges_become_one() -> None:
    column = Column("id", "bigint", "number", 0, is_integer=True)
    split = ByRange(Pair("id", column, column, "number"), 0, 99, 10)
    assert runs(split, [0, 1, 5, 9, 8]) == [(None, 20), (50, 60), (80, None)]


def test_periods_end_where_the_next_begins() -> None:
    assert period_ends("2025") == ("2025-01-01", "2026-01-01")
    assert period_ends("2025-12") == ("2025-12-01", "2026-01-01")
    assert period_ends("2024-02-29") == ("2024-02-29", "2024-03-01")
    assert period_ends("0044-13") is None


@given(some.floats())
def test_floats_come_back_from_their_text(value: float) -> None:
    text = encode("float", value)
    back = decode("float", text)
    assert back == value or (back != back and value != value)  # noqa: PLR0124 - NaN
    assert encode("float", -0.0) == encode("float", 0.0) == "0"


def test_no_two_different_rows_have_one_text() -> None:
    rows = [(None, None), ("", None), (None, ""), ("NULL", ""), ("a|", "b"), ("a", "|b"), ("1:a|", ""), ("", "1:a|")]
    assert len({row_text(("text", "text"), row) for row in rows}) == len(rows)


def test_columns_that_cannot_be_compared_are_refused_by_name() -> None:
    number, text = Column("amount", "numeric(12,2)", "number", 2), Column("amount", "string", "text")
    with pytest.raises(Invalid, match=r"column amount is numeric\(12,2\) in the source and string in the target: cast one of them"):
        pair(number, text)
    with pytest.raises(Invalid, match=r"column tags is text\[\], which cannot be compared: leave it out"):
        pair(Column("tags", "text[]", None, refused="leave it out"), text)
    assert pair(number, Column("AMOUNT", "decimal(20,4)", "number", 4)).scale == 4
    assert pair(number, Column("amount", "numeric", "number", None)).scale is None


def test_a_detail_is_cut_until_it_fits() -> None:
    detail = {"samples": [{"source": "x" * 1_000} for _ in range(1_000)], "missing": 3}
    cut = bounded(detail)
    assert (cut["missing"], cut["cut"], 0 < len(cut["samples"]) < 70) == (3, True, True)
