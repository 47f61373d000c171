"""Texts that hold Debezium's events: where each stands, what kind it is, and in which order the changes came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakeledger.pipelines.sources import changes
from lakeledger.pipelines.sources.debezium_types import PLACEHOLDERS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["ADDED", "PLACEHOLDERS", "classify", "lines", "sequence"]

EVENT = "event"
BAD = "bad"
TOMBSTONE = "tombstone"
OTHER_TABLE = "other_table"
OTHER = "other"

# How the fields begin that ExtractNewRecordState adds to a row.
ADDED = "__"
OPERATIONS = {"c": changes.INSERT, "u": changes.UPDATE, "d": changes.DELETE, "r": changes.READ, "t": changes.TRUNCATE}
# A message of PostgreSQL's, of no table.
MESSAGE = "m"
STRINGS = "map<string,string>"


def lines(spark: SparkSession, paths: Sequence[str], *, whole: bool = False) -> DataFrame:
    """The texts of files, one per line, or one per element of an array: `text` and the columns that say where it stands.

    With `whole`, a file is one text.
    """
    from pyspark.sql import functions as F

    read = spark.read.format("text").option("wholetext", str(whole).lower()).load(list(paths))
    files = sorted(read.inputFiles())
    rows = read.select(
        F.regexp_replace("value", "^\ufeff", "").alias("value"),
        F.col("_metadata.file_path").alias("path"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("row"),
    ).where(F.trim("value") != "")
    texts = F.when(F.trim("value").startswith("["), F.from_json("value", "array<string>")).otherwise(F.array("value"))
    each = rows.select("path", "block", "row", F.posexplode(F.coalesce(texts, F.array("value"))).alias("element", "text"))
    ranks = spark.createDataFrame(list(zip(files, range(len(files)), strict=True)), "path string, file bigint")
    return each.join(F.broadcast(ranks), "path", "left").select("text", "file", "block", "row", "element")


def classify(texts: DataFrame, table: str | None, *, flattened: bool) -> DataFrame:
    """Each text with its `kind`, `table`, `schema`, `change`, the row's `fields` as texts, the `facts` of its origin, and `problems`."""
    from pyspark.sql import functions as F

    outer = F.from_json("text", "schema string, payload string")
    keys = F.json_object_keys("text")
    # An element of an array that is null, or a message without a value.
    texts = texts.withColumns({"text": F.coalesce("text", F.lit("null"))})
    opened = texts.withColumns({"keys": keys}).withColumns({"wrapped": F.array_contains("keys", "payload") & (F.size("keys") <= 2)})
    opened = opened.withColumns(
        {
            "schema": F.when(F.col("wrapped"), outer["schema"]),
            "body": F.when(F.col("wrapped"), outer["payload"]).otherwise(F.col("text")),
        }
    )
    is_tombstone = (F.trim("text") == "null") | (F.col("wrapped") & F.col("body").isNull())
    told = (_flattened(opened) if flattened else _envelopes(opened)).withColumns({"is_tombstone": F.coalesce(is_tombstone, F.lit(False))})
    named = told.withColumns({"table": _table_name()})
    named = named.withColumns({"problems": F.array_compact(F.array(*_problems(table, flattened=flattened)))})
    is_other = F.col("is_other") | (F.col("op") == MESSAGE)
    other_table = F.lit(False) if table is None else F.col("table").isNotNull() & ~_is_table(table)
    kind = (
        F.when(F.col("is_tombstone"), TOMBSTONE)
        .when(F.coalesce(is_other, F.lit(False)), OTHER)
        .when(other_table, OTHER_TABLE)
        .when(F.size("problems") > 0, BAD)
        .otherwise(EVENT)
    )
    return named.withColumns({"kind": kind})


def sequence(batch: int) -> Column:
    """The order of a change: where its database wrote it (LSN, binary log, SCN, else the time), then where its text stands.

    Every element counts only if those before it are equal, as they are for two changes that their database wrote at one place.
    """
    from pyspark.sql import functions as F

    log = [_fact("lsn").try_cast("bigint")]
    binlog = [F.regexp_extract(_fact("file"), r"\.(\d+)$", 1).try_cast("bigint"), _number("pos"), _number("row")]
    lsns = [_hex(name, part) for name in ("commit_lsn", "change_lsn") for part in range(3)]
    server = [*lsns, _number("event_serial_no")]
    scn = [_number("scn"), _number("ssn")]
    time = [F.coalesce(_fact("ts_ms"), F.col("ts_ms")).try_cast("bigint"), _number("ord")]
    ways = ((log, "lsn"), (binlog, "file"), (server, "commit_lsn"), (scn, "scn"))
    place = F.when(time[0].isNotNull(), _array(time))
    for way, sign in reversed(ways):
        place = F.when(_fact(sign).isNotNull() & way[0].isNotNull(), _array(way)).otherwise(place)
    there = [F.coalesce(F.col("total_order"), F.lit(0).cast("bigint")), F.lit(batch).cast("bigint")]
    text = [F.coalesce(F.col(name).cast("bigint"), F.lit(0).cast("bigint")) for name in ("file", "block", "row", "element")]
    return F.concat(place, F.array(*there, *text))


def _envelopes(opened: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    parts = "before string, after string, source string, op string, ts_ms string, transaction string, status string, ddl string"
    event = opened.withColumns({"event": F.from_json("body", parts), "body_keys": F.json_object_keys("body")})
    op = F.col("event.op")
    image = F.when(op == "d", F.col("event.before")).when(op != "t", F.col("event.after"))
    # Heart beats, the borders of transactions and changes of schemas are no changes of rows.
    has = {name: F.array_contains("body_keys", name) for name in ("op", "ts_ms", "status", "ddl", "id")}
    heartbeat = has["ts_ms"] & (F.size("body_keys") == 1)
    is_other = ~has["op"] & (has["ddl"] | (has["status"] & has["id"]) | heartbeat)
    order = F.get_json_object("event.transaction", "$.total_order").try_cast("bigint")
    return event.select(
        *opened.columns,
        op.alias("op"),
        _change(op).alias("change"),
        F.from_json(image, STRINGS).alias("fields"),
        F.from_json("event.source", STRINGS).alias("facts"),
        F.col("event.ts_ms").alias("ts_ms"),
        order.alias("total_order"),
        F.coalesce(is_other, F.lit(False)).alias("is_other"),
    )


def _flattened(opened: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    event = opened.withColumns({"all_fields": F.from_json("body", STRINGS)})
    added = {name: F.try_element_at("all_fields", F.lit(f"{ADDED}{name}")) for name in ("op", "deleted")}
    op = F.coalesce(added["op"], F.when(added["deleted"] == "true", F.lit("d")).otherwise(F.lit("u")))
    facts = F.map_filter("all_fields", lambda name, _: name.startswith(ADDED))
    return event.select(
        *opened.columns,
        op.alias("op"),
        _change(op).alias("change"),
        F.map_filter("all_fields", lambda name, _: ~name.startswith(ADDED)).alias("fields"),
        F.transform_keys(facts, lambda name, _: F.substring(name, len(ADDED) + 1, 1_000)).alias("facts"),
        F.lit(None).cast("string").alias("ts_ms"),
        F.lit(None).cast("bigint").alias("total_order"),
        F.lit(False).alias("is_other"),
    )


def _problems(table: str | None, *, flattened: bool) -> list[Column]:
    from pyspark.sql import functions as F

    is_object = F.col("keys").isNotNull()
    has_op = F.col("op").isNotNull()
    known = F.col("change").isNotNull() | (F.col("op") == MESSAGE)
    needs_row = F.col("change").isin(changes.INSERT, changes.UPDATE, changes.READ)
    found = [
        F.when(~is_object, F.lit("it is no JSON object")),
        F.when(is_object & ~has_op, F.lit("it has no op: an event that is flattened needs `flattened`")),
        F.when(has_op & ~known, F.concat(F.lit("its op is unknown: "), F.col("op"))),
        F.when(needs_row & F.col("fields").isNull(), F.lit("it has no row: after is missing")),
        F.when(
            (F.col("change") == changes.DELETE) & F.col("fields").isNull(),
            F.lit("it has no before: give the table a REPLICA IDENTITY or a primary key"),
        ),
    ]
    if table is not None:
        fix = "add.fields=table,schema" if flattened else "the connector's source block"
        found.append(F.when(is_object & known & F.col("table").isNull(), F.lit(f"it does not name its table: it needs {fix}")))
    return found


def _change(op: Column) -> Column:
    from pyspark.sql import functions as F

    changed = F.lit(None).cast("string")
    for sign, change in OPERATIONS.items():
        changed = F.when(op == sign, F.lit(change)).otherwise(changed)
    return changed


def _table_name() -> Column:
    """`schema.table`, or `database.table` of a server without schemas."""
    from pyspark.sql import functions as F

    return F.when(_fact("table").isNotNull(), F.concat_ws(".", F.coalesce(_fact("schema"), _fact("db")), _fact("table")))


def _is_table(table: str) -> Column:
    from pyspark.sql import functions as F

    return (F.col("table") == table) | (_fact("table") == table)


def _fact(name: str) -> Column:
    """What an event tells of its origin. Flattened ones have it as `__lsn` or `__source_lsn`."""
    from pyspark.sql import functions as F

    return F.coalesce(F.try_element_at("facts", F.lit(name)), F.try_element_at("facts", F.lit(f"source_{name}")))


def _number(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(_fact(name).try_cast("bigint"), F.lit(0).cast("bigint"))


def _hex(name: str, part: int) -> Column:
    """A part of SQL Server's `00000027:00000758:0005`."""
    from pyspark.sql import functions as F

    text = F.regexp_extract(_fact(name), r"^([0-9a-fA-F]+):([0-9a-fA-F]+):([0-9a-fA-F]+)$", part + 1)
    return F.coalesce(F.conv(F.when(text != "", text), 16, 10).try_cast("bigint"), F.lit(0).cast("bigint"))


def _array(parts: list[Column]) -> Column:
    from pyspark.sql import functions as F

    return F.array(*parts)
