"""Records that do not look like their kind: set aside as dead letters of `records.<kind>`, and stored once their kind is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lakeledger.errors import Invalid
from lakeledger.records import MetadataRecord
from lakeledger.sync.dead_letters import DeadLetter, DeadLetters, ItemKind, NewLetter, Replay

SCHEMA = "records"


@dataclass(frozen=True)
class QuarantinedRecords:
    """The records of one tenant that wait for somebody."""

    _letters: Callable[[], DeadLetters]

    def set_aside(self, record: MetadataRecord, why: str) -> DeadLetter:
        """Keep a record as a dead letter: one for each fact, however often it comes."""
        return self._letters().add(
            NewLetter(
                SCHEMA,
                record.kind,
                "insert",
                record.to_dict(),
                sync_run_id=record.context.run_id,
                source_record_id=record.dedupe_key,
                error_message=why,
                error_type="validation",
                item_kind=ItemKind.METADATA,
            )
        )

    def replay(
        self,
        store: Callable[[Iterable[MetadataRecord]], object],
        kind: str | None = None,
        limit: int | None = None,
        *,
        dry_run: bool = True,
    ) -> Replay:
        """Store the records that wait, or those of one kind; what is still refused waits on. A dry run only counts."""

        def again(letter: DeadLetter) -> None:
            store([record_of(letter)])

        return self._letters().replay(again, schema=SCHEMA, table=kind, limit=limit, dry_run=dry_run)


def record_of(letter: DeadLetter) -> MetadataRecord:
    """The record that was set aside. Raises Invalid if what is kept of it is not complete."""
    if not letter.record_complete:
        raise Invalid(
            f"dead letter {letter.id} is not complete: its record had a field that is masked, or was too large; emit it again, "
            f"and settle the letter with `lakeledger dlq resolve {letter.id}`"
        )
    return MetadataRecord.from_dict({name: value for name, value in letter.record_data.items() if name != "sequence"}, verbatim=True)
