"""Alarms: a subscriber for which events wait longer than they may is reported, and never passed over."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from lakeledger.background import Failures
from lakeledger.config import AsthaSettings
from lakeledger.db import Store
from lakeledger.events.feed import sql
from lakeledger.events.subscription import Subscription

LOOK_SECONDS = 30.0


class HealthMonitor:
    """Looks from time to time how long the oldest event has waited for each subscriber."""

    def __init__(self, settings: AsthaSettings) -> None:
        self._settings = settings
        self._looked: dict[str, float] = {}
        self.heads: Mapping[str, int] = {}

    def look(self, store: Store, subscriptions: Sequence[Subscription], failures: Failures) -> None:
        """Report those of one tenant that are stuck, and clear those that are not any more; every half minute at most."""
        now = time.monotonic()
        pause = min(LOOK_SECONDS, self._settings.alarm_seconds / 4)
        if (before := self._looked.get(store.tenant_id)) is not None and now - before < pause:
            return
        self._looked[store.tenant_id] = now
        for each in subscriptions:
            if stuck := self._stuck(store, each):
                failures.report(_subject(each), stuck)
            else:
                failures.clear(_subject(each))

    def _stuck(self, store: Store, subscription: Subscription) -> str | None:
        """Since when which event waits, and why, if that is too long."""
        if (waiting := subscription.first_waiting(self.heads.get(store.tenant_id, 0))) is None:
            return None
        seq, why = waiting
        with store.read() as tx:
            oldest = tx.one(sql.oldest_after, after_seq=seq - 1)
            seconds = (tx.now - oldest["at"]).total_seconds() if oldest else 0.0
        if oldest is None or seconds < self._settings.alarm_seconds:
            return None
        return (
            f"events wait for subscriber {subscription.name} since {oldest['at']:%Y-%m-%d %H:%M:%S} UTC (event {oldest['seq']})"
            f"{f': {why}' if why else ''}; the change log is kept until it has handled them: `lakeledger events lag` shows how far it is"
        )


def _subject(subscription: Subscription) -> str:
    return f"lag of {subscription.name}"
