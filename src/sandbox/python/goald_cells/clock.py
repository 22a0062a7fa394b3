"""clock.py -- sleep() that the time limit of a cell can end. The clock itself is set by python-engine.ts."""

import time

from . import host

PIECE_SECONDS = 0.02


def sleep(seconds):
    """Suspends the code for this many seconds. They count as time of the cell."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        host.pause(1000 * min(left, PIECE_SECONDS))
        if host.time_left_ms() <= 0:
            raise KeyboardInterrupt


def install():
    time.sleep = sleep
