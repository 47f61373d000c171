"""A query over ledger tables of which only the new rows are read: those of the versions since the last load.

The position is the version of each table that is read so. Its versions are kept from expiry from there on, and a compaction, which
brings no rows, is no news. A table whose rows were replaced or removed since cannot be read so: what came does not tell what is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakeledger import clock, codec
from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.names import parse_name
from lakeledger.pipelines import Context, sql_task
from lakeledger.pipelines.effects import Volume
from lakeledger.pipelines.sources import Reading, Seen
from lakeledger.sync import Advance, VersionsPosition
from lakeledger.sync import Source as SourceName
from lakeledger.tables import View, store


@dataclass(frozen=True)
class IncrementalQuery:
    """A query, and which of its tables are read by what is new: the only one, or those that are named. The others are read whole.

    New rows of one table are joined with all rows of the tables that are read whole, as these are then. If several are read by what is
    new, they meet only what is new in the others: that is right for a UNION, and loses matches of a JOIN.
    """

    name: SourceName
    text: str
    context: Context
    parameters: Mapping[str, Any] = field(default_factory=dict)
    incremental: tuple[str, ...] = ()

    def plan(self, seen: Seen) -> Reading | None:
        is_fresh = seen.wanted.full_refresh
        query = sql_task.prepare(self.context, self.text, dict(self.parameters))
        followed = self._followed(query)
        if not is_fresh:
            seen.check_first_run()
        since = None if is_fresh else self._since(seen)
        if since and all(since.versions.get(name) == view.content_version for name, view in followed.items()):
            self._check_ids(since, followed)
            return None
        news = self._news(query, followed, since) if since else query
        upto = {name: view.content_version for name, view in followed.items()}
        move = VersionsPosition(upto, {name: view.table.table_id for name, view in followed.items()})
        before = dict(since.versions) if since else None
        version = seen.marker.version if seen.marker else 0
        return Reading(
            frame=lambda spark: sql_task.run(spark, news, clock.new_id()[-12:]),
            batch_id=None if is_fresh else codec.digest(["query", self.name.name, self.text, dict(self.parameters), before, upto, version]),
            move=Advance(self.name, move, version, force=is_fresh and version > 0, reason="full refresh" if is_fresh else None),
            base_version=query.inputs.get(str(seen.table.name)) if seen.table else None,
            summary={"source": self.name.name, "inputs": query.inputs},
            detail={"inputs": query.inputs, "position": {"before": before, "after": upto}},
            volume=Volume(before, upto),
            is_slice=not is_fresh,
            wanted=replace(seen.wanted, window=None),
        )

    def _followed(self, query: sql_task.Query) -> dict[str, View]:
        """The tables that are read by what is new, by their whole names. Raises Invalid if it is not clear which."""
        views = {str(view.table.name): view for view in query.views.values()}
        if not self.incremental and len(views) > 1:
            raise Invalid(
                f"{self.name.name} reads {', '.join(sorted(views))}: name in `incremental` the one whose new rows are wanted; "
                f"the others are read whole"
            )
        names = [str(parse_name(each)) for each in self.incremental] or list(views)
        by_key = {codec.fold(name): name for name in views}
        for name in names:
            if codec.fold(name) not in by_key:
                there = ", ".join(sorted(views)) or "none"
                raise Invalid(f"{self.name.name} reads no ledger table {name}: it reads {there}{suggest(name, list(views))}")
        if not names:
            raise Invalid(
                f"{self.name.name} reads no table that the ledger has, so nothing of it is new: load its tables first, "
                "or use load_type full"
            )
        return {by_key[codec.fold(name)]: views[by_key[codec.fold(name)]] for name in names}

    def _since(self, seen: Seen) -> VersionsPosition | None:
        if seen.marker is None:
            return None
        position = seen.marker.position
        if not isinstance(position, VersionsPosition):
            raise Invalid(f"{self.name.name} stands at {seen.marker.position_data}, which are no versions of tables: {self._way_out}")
        return position

    def _news(self, query: sql_task.Query, followed: Mapping[str, View], since: VersionsPosition) -> sql_task.Query:
        self._check_ids(since, followed)
        with self.context.store.read() as tx:
            views = {written: self._new_rows(tx, view, followed, since) for written, view in query.views.items()}
        return replace(query, views=views)

    def _new_rows(self, tx: Any, view: View, followed: Mapping[str, View], since: VersionsPosition) -> View:
        name = str(view.table.name)
        if name not in followed:
            return view
        try:
            return store.appended(tx, view, since.versions[name])
        except Invalid as error:
            raise Invalid(f"{self.name.name} cannot go on from version {since.versions[name]}: {error}. {self._way_out}") from error

    def _check_ids(self, since: VersionsPosition, followed: Mapping[str, View]) -> None:
        for name, view in followed.items():
            if name not in since.versions:
                raise Invalid(f"{self.name.name} stands at {dict(since.versions)}, and {name} is not among them: {self._way_out}")
            if since.ids.get(name, view.table.table_id) != view.table.table_id:
                raise Invalid(f"{name} is another table than the one that {self.name.name} has read: {self._way_out}")

    @property
    def _way_out(self) -> str:
        return (
            f"load everything again with a full refresh (`load(…, full_refresh=True)`), or set a place with "
            f"`lakeledger positions set {self.name.name} … --force --reason …`"
        )
