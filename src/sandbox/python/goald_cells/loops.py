"""loops.py -- an event loop for asyncio that waits for time only: the sandbox has no sockets and no threads."""

import asyncio
from asyncio import events, runners, tasks

from .clock import sleep


class _Timers:
    """In place of a selector of sockets."""

    def select(self, timeout):
        if timeout is None:
            raise RuntimeError("The code waits for something that cannot happen in the sandbox.")
        if timeout > 0:
            sleep(timeout)
        return []

    def close(self):
        pass


class CellLoop(asyncio.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = _Timers()

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass


class _Policy(events._BaseDefaultEventLoopPolicy):
    _loop_factory = CellLoop


def install():
    # Those of Pyodide are for a browser, whose loop always runs.
    asyncio.run = runners.run
    events._set_running_loop(None)
    events._set_event_loop_policy(_Policy())


def run(coroutine):
    """Runs the code of a cell, which may be inside a task of the cell around it."""
    outer = events._get_running_loop()
    task = tasks.current_task(outer) if outer else None
    if task:
        tasks._leave_task(outer, task)
    events._set_running_loop(None)
    try:
        return runners.run(coroutine)
    finally:
        events._set_running_loop(outer)
        if task:
            tasks._enter_task(outer, task)
