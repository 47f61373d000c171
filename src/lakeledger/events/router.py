"""Who hears of a change: found by its table in one step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lakeledger.events.model import Change
from lakeledger.events.subscription import Subscription


class EventRouter:
    """The subscriptions of one tenant, by the tables that they hear of."""

    def __init__(self, subscriptions: Iterable[Subscription]) -> None:
        self.subscriptions = list(subscriptions)
        self._by_table: dict[str, list[Subscription]] = {}
        for each in self.subscriptions:
            for table in each.tables:
                self._by_table.setdefault(table, []).append(each)

    def places(self, head: int) -> dict[int, list[Subscription]]:
        """Those that have not read everything up to there, by how far they got. All of them are mostly at the same place."""
        found: dict[int, list[Subscription]] = {}
        for each in self.subscriptions:
            if each.is_following and each.read_to < head and each.has_room():
                found.setdefault(each.read_to, []).append(each)
        return found

    def route(self, changes: Sequence[Change], after: int, readers: Sequence[Subscription]) -> None:
        """Give each of the readers, who have read up to the same place, what it hears of."""
        theirs: dict[Subscription, list[Change]] = {each: [] for each in readers}
        for change in changes:
            for each in self._by_table.get(change.table_name, ()):
                if each in theirs:
                    theirs[each].append(change)
        for each, chosen in theirs.items():
            each.take(chosen, after, changes[-1].seq)
