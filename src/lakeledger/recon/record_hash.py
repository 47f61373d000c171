"""PostgreSQL's own hash of values, over whole columns: what PostgreSQL computes fastest, any other side can say, too.

It is Bob Jenkins' lookup3, which PostgreSQL has to keep: rows are put into hash partitions by it. Functions here run in Spark's workers,
which know nothing of lakeledger: they are sent whole, and import only what is installed there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pyarrow import Array, RecordBatch

    Words = NDArray[np.uint32]
    Hashes = NDArray[np.uint64]

_START = (0x9E3779B9 + 3923095) & 0xFFFFFFFF
_BLOCK = 12
_MIX = (4, 6, 8, 16, 19, 4)
_FINAL = (14, 11, 25, 16, 4, 14, 24)


def sums(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """For each part, which the first column names, how many rows it has, and what the halves of their hashes add up to."""
    import numpy as np
    from pyarrow import array, table

    for batch in batches:
        hashed = hash_rows(batch.columns[1:], batch.num_rows).view(np.int64)
        halves = {"high": array(hashed >> 32), "low": array(hashed & 0xFFFFFFFF), "number": array(np.ones(len(hashed), np.int64))}
        grouped = table({"part": batch.column(0), **halves}).group_by("part").aggregate([(name, "sum") for name in halves])
        yield from (
            grouped.select(["part", "number_sum", "high_sum", "low_sum"]).rename_columns(["part", "number", "high", "low"]).to_batches()
        )


def hash_rows(columns: Sequence[Array], rows: int) -> Hashes:
    """The hashes of the values of a row as one, each with its place as seed; that of NULL is 0. Whole numbers, doubles and texts."""
    import numpy as np

    found = np.zeros(rows, np.uint64)
    for place, column in enumerate(columns):
        found ^= _hashes(column, place + 1)
    return found


def _hashes(column: Array, seed: int) -> Hashes:
    import numpy as np
    from pyarrow import types

    if types.is_int64(column.type):
        hashed = _of_integers(_values(column, np.int64), seed)
    elif types.is_float64(column.type):
        hashed = _of_doubles(_values(column, np.float64), seed)
    else:
        hashed = _of_texts(column, seed)
    if column.null_count:
        hashed[np.asarray(column.is_null())] = 0
    return hashed


def _values(column: Array, type_: Any) -> NDArray[Any]:
    import numpy as np

    return np.frombuffer(column.buffers()[1], type_)[column.offset : column.offset + len(column)]


def _of_integers(values: NDArray[np.int64], seed: int) -> Hashes:
    import numpy as np

    low, high = values.astype(np.uint32), (values >> 32).astype(np.uint32)
    low ^= np.where(values >= 0, high, ~high)
    a, b, c = _begin(np.full(len(values), 4, np.uint32), seed)
    a += low
    return _end(a, b, c)


def _of_doubles(values: NDArray[np.float64], seed: int) -> Hashes:
    import numpy as np

    known = np.where(np.isnan(values), np.float64("nan"), values)
    words = np.ascontiguousarray(known).view(np.uint32).reshape(-1, 2)
    a, b, c = _begin(np.full(len(values), 8, np.uint32), seed)
    a += words[:, 0]
    b += words[:, 1]
    hashed = _end(a, b, c)
    hashed[values == 0] = seed
    return hashed


def _of_texts(column: Array, seed: int) -> Hashes:
    """Bytes in blocks of twelve; what is left of each is filled up with zeros, and its length is part of the hash."""
    import numpy as np

    wide = "large" in str(column.type)
    offsets = np.frombuffer(column.buffers()[1], np.int64 if wide else np.int32)[column.offset : column.offset + len(column) + 1]
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    data = column.buffers()[2]
    padded = np.zeros((data.size if data else 0) + _BLOCK, np.uint8)
    if data:
        padded[:-_BLOCK] = np.frombuffer(data, np.uint8)
    words = np.ndarray(len(padded) - 3, "<u4", padded.data, strides=(1,))
    a, b, c = _begin(lengths.astype(np.uint32), seed)
    blocks = lengths // _BLOCK
    every = np.arange(len(lengths))
    for block in range(int(blocks.max(initial=0))):
        some = every[blocks > block] if block >= blocks.min(initial=0) else every
        x, y, z = (each[some] if some is not every else each for each in (a, b, c))
        at = starts[some] + _BLOCK * block
        x += words[at]
        y += words[at + 4]
        z += words[at + 8]
        _mix(x, y, z)
        if some is not every:
            a[some], b[some], c[some] = x, y, z
    rest = (lengths % _BLOCK).astype(np.int64)
    at = starts + blocks * _BLOCK
    a += _first(words[at], rest)
    b += _first(words[at + 4], rest - 4)
    c += _first(words[at + 8], rest - 8) << np.uint32(8)  # its lowest byte is the length's
    return _end(a, b, c)


def _first(words: Words, count: NDArray[np.int64]) -> Words:
    """So many bytes of each word."""
    import numpy as np

    masks = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], np.uint32)
    return words & masks[np.clip(count, 0, 4)]


def _begin(lengths: Words, seed: int) -> tuple[Words, Words, Words]:
    import numpy as np

    a = lengths + np.uint32(_START)
    b, c = a + np.uint32(seed), a.copy()
    _mix(a, b, c)
    return a, b, c


def _turned(word: Words, bits: int) -> Words:
    import numpy as np

    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))


def _mix(a: Words, b: Words, c: Words) -> None:
    for bits in _MIX:
        a -= c
        a ^= _turned(c, bits)
        c += b
        a, b, c = b, c, a


def _end(a: Words, b: Words, c: Words) -> Hashes:
    import numpy as np

    for bits in _FINAL:
        c ^= b
        c -= _turned(b, bits)
        a, b, c = b, c, a
    # After seven turns, what was b is a, and what was c is b.
    return (a.astype(np.uint64) << np.uint64(32)) | b.astype(np.uint64)
