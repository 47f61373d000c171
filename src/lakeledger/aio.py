"""The same for `async` programs: `lakeledger.aio.MetadataManager` has the methods of `lakeledger.sync.MetadataManager`, awaitable.

Each call runs in a thread, so the event loop is never held up by the database; whoever cancels an await does not undo what the thread
does. Every other name of `lakeledger.sync` is here, too.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lakeledger import sync


class MetadataManager:
    """`lakeledger.sync.MetadataManager` with every method awaitable."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._manager = sync.MetadataManager(*args, **kwargs)
        # Not asyncio's own threads: those may all be taken by something that waits for this manager.
        self._threads = ThreadPoolExecutor(thread_name_prefix="metadata-manager")

    async def __aenter__(self) -> Self:
        await _in_thread(self._threads, self._manager.initialize)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await _in_thread(self._threads, self._manager.close)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]: ...


def __getattr__(name: str) -> Any:
    if name in sync.__all__:
        return getattr(sync, name)
    raise AttributeError(f"module 'lakeledger.aio' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(sync.__all__)


def _awaitable(name: str, method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @functools.wraps(method)
    async def call(self: MetadataManager, *args: Any, **kwargs: Any) -> Any:
        loop = asyncio.get_running_loop()
        words = {key: _plain(value, loop) for key, value in kwargs.items()}
        work = functools.partial(getattr(self._manager, name), *(_plain(value, loop) for value in args), **words)
        if not any(callable(value) for value in (*work.args, *words.values())):
            return await _in_thread(self._threads, work)
        # A callback may await the manager, whose threads must not all be waiting for callbacks: such a call has a thread of its own.
        own = ThreadPoolExecutor(1, thread_name_prefix=name)
        try:
            return await _in_thread(own, work)
        finally:
            own.shutdown(wait=False)

    return call


async def _in_thread(threads: ThreadPoolExecutor, work: Callable[[], Any]) -> Any:
    return await asyncio.get_running_loop().run_in_executor(threads, contextvars.copy_context().run, work)


def _plain(value: Any, loop: asyncio.AbstractEventLoop) -> Any:
    """A callback that is to be awaited, as one that a thread can call; anything else as it is."""
    if not inspect.iscoroutinefunction(value):
        return value

    def call(*args: Any) -> Any:
        if loop.is_closed():
            raise asyncio.CancelledError
        try:
            return asyncio.run_coroutine_threadsafe(value(*args), loop).result()
        except concurrent.futures.CancelledError:
            # The program is ending: that says nothing about what the callback was given.
            raise asyncio.CancelledError from None

    return call


for _name, _method in vars(sync.MetadataManager).items():
    if callable(_method) and not _name.startswith("_"):
        setattr(MetadataManager, _name, _awaitable(_name, _method))
