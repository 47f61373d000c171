"""What the header of a CSV file says, read on the driver: its first record and nothing more, also of a compressed file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING

from lakeledger.errors import Invalid
from lakeledger.lake.storage import PARALLEL, Storage

if TYPE_CHECKING:
    from collections.abc import Callable

PIECE_BYTES = 1 << 16
MOST_BYTES = 1 << 20


def read_headers(paths: Sequence[str], options: Mapping[str, str], open_storage: Callable[[str], Storage]) -> list[tuple[str, ...] | None]:
    """The column names of each file, several read at a time; None for one without a line. Names of options are in lower case."""
    places = [path.rpartition("/") for path in paths]
    folders = {folder: open_storage(folder) for folder, _, _ in places}
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="headers") as pool:
        return list(pool.map(lambda place: _header(folders[place[0]], place[2], options), places))


def parse_header(text: str, options: Mapping[str, str], *, is_whole: bool) -> tuple[str, ...] | None:
    """The names in the first record of a text; nothing if it is not there yet. Names of options are in lower case."""
    comment = options.get("comment")
    lines = [line for line in io.StringIO(text) if line.strip() and not (comment and line.startswith(comment))]
    if not lines or not (is_whole or lines[0].endswith("\n") or len(lines) > 1):
        return () if is_whole else None
    names = _split(lines if options.get("multiline", "").lower() == "true" else lines[:1], options)
    if any(options.get(f"ignore{side}whitespace", "").lower() == "true" for side in ("leading", "trailing")):
        names = [name.strip() for name in names]
    return tuple(names)


def _split(lines: Sequence[str], options: Mapping[str, str]) -> list[str]:
    separator, quote = options.get("sep", options.get("delimiter", ",")), options.get("quote", '"')
    separator = {"\\t": "\t"}.get(separator, separator)
    if len(separator) != 1 or len(quote) != 1 or quote == "\0":
        return lines[0].rstrip("\r\n").split(separator)
    escape = options.get("escape", "\\")
    reader = csv.reader(
        chain(lines), delimiter=separator, quotechar=quote, escapechar=escape if len(escape) == 1 and escape != quote else None
    )
    return next(reader)


def _header(storage: Storage, name: str, options: Mapping[str, str]) -> tuple[str, ...] | None:
    encoding = options.get("encoding", options.get("charset", "utf-8"))
    encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    read = b""
    with storage.reading(name), storage.filesystem.open_input_stream(storage.inner(name)) as stream:
        while len(read) < MOST_BYTES:
            piece = stream.read(PIECE_BYTES)
            read += piece
            text = read.decode(encoding, errors="ignore" if piece else "replace")
            found = parse_header(text, options, is_whole=not piece)
            if found is not None:
                return found or None
    raise Invalid(f"{storage.root}/{name} has no end of its header in the first {MOST_BYTES:,} bytes: check its separators and quotes")
