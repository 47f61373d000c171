"""The same for `async` programs: `lakeledger.aio.MetadataManager` has the methods of `lakeledger.sync.MetadataManager`, awaitable.

Each call runs in a thread, so the event loop is never held up by the database; whoever cancels an await does not undo what the thread
does. Every other name of `lakeledger.sync` is here, too.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lakeledger import sync


class MetadataManager:
    """`lakeledger.sync.MetadataManager` with every method awaitable."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._manager = sync.MetadataManager(*args, **kwargs)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._manager.initialize)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self._manager.close)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]: ...


def __getattr__(name: str) -> Any:
    if name in sync.__all__:
        return getattr(sync, name)
    raise AttributeError(f"module 'lakeledger.aio' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(sync.__all__)


def _awaitable(name: str, method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(method)
    async def call(self: MetadataManager, *args: Any, **kwargs: Any) -> Any:
        loop = asyncio.get_running_loop()
        words = {key: _plain(value, loop) for key, value in kwargs.items()}
        return await asyncio.to_thread(getattr(self._manager, name), *(_plain(value, loop) for value in args), **words)

    return call


def _plain(value: Any, loop: asyncio.AbstractEventLoop) -> Any:
    """A callback that is to be awaited, as one that a thread can call; anything else as it is."""
    if not inspect.iscoroutinefunction(value):
        return value
    return lambda *args: asyncio.run_coroutine_threadsafe(value(*args), loop).result()


for _name, _method in vars(sync.MetadataManager).items():
    if callable(_method) and not _name.startswith("_"):
        setattr(MetadataManager, _name, _awaitable(_name, _method))
