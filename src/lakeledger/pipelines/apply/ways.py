"""Every way of writing, by its name."""

from __future__ import annotations

from collections.abc import Mapping

from lakeledger.pipelines.apply import Mode, Way, exchange, merge, scd2, simple
from lakeledger.pipelines.apply.incoming import prepare

WAYS: Mapping[Mode, Way] = {
    "append": Way(simple.append, simple.as_given),
    "overwrite": Way(simple.overwrite, simple.as_given),
    "overwrite_partitions": Way(simple.overwrite_partitions, simple.as_given),
    "exchange": Way(exchange.exchange, exchange.prepare),
    "insert_only": Way(merge.insert_only, prepare),
    "merge": Way(merge.merge, prepare),
    "sync": Way(merge.sync, prepare),
    "scd2": Way(scd2.scd2, prepare),
}
