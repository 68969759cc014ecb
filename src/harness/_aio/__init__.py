"""The asynchronous driver. Nothing else of this package imports asyncio."""

from harness._aio._events import RunEvents
from harness._aio._harness import AsyncHarness, run_in_loop
from harness._aio._many import run_many_async
from harness._aio._seam import AsyncSeam
from harness._aio._threads import in_threads

__all__ = ["AsyncHarness", "AsyncSeam", "RunEvents", "in_threads", "run_in_loop", "run_many_async"]
