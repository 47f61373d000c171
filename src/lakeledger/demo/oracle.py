"""What the demo's tables must hold, counted in plain Python from the generator alone, and whether they do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from lakeledger.demo import crm, faults, shop
from lakeledger.errors import Failed
from lakeledger.lake import Storage
from lakeledger.ledger import Ledger

CUSTOMERS, HISTORY = "silver.customers", "silver.customer_history"
QUARANTINES = (f"{CUSTOMERS}__quarantine", f"{HISTORY}__quarantine")
WRONG_LINES = "bronze.order_lines__quarantine"
BIG_DISCOUNT = 20
# The tables without and with money in them, each with the column to count by.
RAW = {
    "bronze.customers": "customer_id",
    "bronze.orders": "order_id",
    "bronze.order_lines": "order_id",
    CUSTOMERS: "customer_id",
    HISTORY: "customer_id",
    "silver.big_discounts": "order_id",
    **dict.fromkeys((WRONG_LINES, *QUARANTINES), "row"),
}
MONEY = {"silver.sales": "amount", "gold.daily_revenue": "revenue", "gold.top_products": "revenue"}


@dataclass(frozen=True)
class Figures:
    """The size of a table and, where it has money in it, how much."""

    rows: int
    cents: int | None = None

    def __str__(self) -> str:
        money = "" if self.cents is None else f" worth {self.cents / 100:,.2f}"
        return f"{self.rows:,} rows{money}"


def expected(days: int) -> dict[str, Figures]:
    """The figures of every table after so many days."""
    dates = shop.dates(days)
    sales = [shop.sales_day(day) for day in dates]
    paid = {order.order_id for day in sales for order in day.orders if order.is_sale}
    sold = [line for day in sales for line in day.lines if line.order_id in paid]
    revenue = sum(line.cents for line in sold)
    counted = crm.tally(dates)
    return {
        "bronze.customers": Figures(len(shop.customers(dates[-1]))),
        "bronze.orders": Figures(sum(len(day.orders) for day in sales)),
        "bronze.order_lines": Figures(sum(len(day.lines) for day in sales)),
        WRONG_LINES: Figures(faults.count_wrong_lines(dates)),
        CUSTOMERS: Figures(len(counted.customers)),
        HISTORY: Figures(len(counted.versions)),
        "silver.big_discounts": Figures(sum(line.discount_percent >= BIG_DISCOUNT for day in sales for line in day.lines)),
        **({name: Figures(counted.bad) for name in QUARANTINES} if counted.bad else {}),
        "silver.sales": Figures(len(sold), revenue),
        "gold.daily_revenue": Figures(len({line.order_date for line in sold}), revenue),
        "gold.top_products": Figures(len({line.sku for line in sold}), revenue),
    }


def found(ledger: Ledger) -> dict[str, Figures]:
    """The figures of every table, from the files of its current version."""
    return {name: _figures(ledger, name) for name in (*RAW, *MONEY) if ledger.tables.find(name)}


def check(ledger: Ledger, days: int, declared: Collection[str]) -> Figures:
    """What was sold. Raises Failed if a declared table does not hold what the shop made, or the ledger counts it differently."""
    wanted = {name: figures for name, figures in expected(days).items() if name.removesuffix("__quarantine") in declared}
    counted = {str(table.name): table.row_count for table in ledger.tables.list()}
    is_there = found(ledger)
    problems = [
        f"{name} has {is_there.get(name, 'nothing')} (the ledger counts {counted.get(name, 0):,}), but the shop made {figures}"
        for name, figures in wanted.items()
        if is_there.get(name) != figures or counted.get(name) != figures.rows
    ]
    if not problems and CUSTOMERS in declared:
        problems = _wrong_customers(ledger, crm.tally(shop.dates(days)))
    if problems:
        raise Failed(f"the demo's tables are not what they should be: {'; '.join(problems)}; choose another --folder for a new shop")
    return wanted["silver.sales"]


def _wrong_customers(ledger: Ledger, counted: crm.Tally) -> list[str]:
    """What is wrong with the customers and their history, row by row."""
    rows = read_rows(ledger, CUSTOMERS, ["customer_id", "city"])
    problems = [] if {row["customer_id"]: row["city"] for row in rows} == counted.customers else [f"{CUSTOMERS} has the wrong cities"]
    return problems if versions(ledger) == counted.versions else [*problems, f"{HISTORY} has the wrong versions"]


def versions(ledger: Ledger) -> set[tuple[int, str, int, int | None]]:
    """Every version of every customer in the history, as the tally has them. Its times begin with the LSN."""
    rows = read_rows(ledger, HISTORY, ["customer_id", "city", "__START_AT", "__END_AT"])
    return {(row["customer_id"], row["city"], row["__START_AT"][0], (row["__END_AT"] or [None])[0]) for row in rows}


def read_rows(ledger: Ledger, table: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """A small table's rows. Ledger tables are plain Parquet files, so this needs no Spark."""
    from pyarrow.parquet import ParquetFile

    view, metadata = ledger.tables.view(table), ledger.tables.metadata(table)
    fields = metadata.schema["fields"] if metadata else []
    names = {field["physical_name"]: field["name"] for field in fields if columns is None or field["name"] in columns}
    storage = Storage(view.table.location, ledger.settings.s3)
    files = [ParquetFile(storage.inner(path), filesystem=storage.filesystem) for path in view.file_paths]
    return [{names[name]: value for name, value in row.items()} for file in files for row in file.read(list(names)).to_pylist()]


def _figures(ledger: Ledger, table: str) -> Figures:
    money = MONEY.get(table)
    rows = read_rows(ledger, table, [money or RAW[table]])
    return Figures(len(rows), int(sum(row[money] for row in rows) * 100) if money else None)
