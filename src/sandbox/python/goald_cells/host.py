"""host.py -- what this process asks its host. Set once by python-engine.ts. Each call blocks."""

import json

from .errors import CommandError
from .plain import from_arguments

# Functions of JavaScript, which are set in this order.
FUNCTIONS = (
    # Takes and returns JSON: see `ask`.
    "_ask",
    "start_code",
    # The code of the cell has ended. Saves its files. Returns why they could not be saved; empty when they are.
    "end_code",
    "_watch_time",
    "time_left_ms",
    # Takes milliseconds.
    "pause",
    # Returns why the last file could not be read, once; empty when none was refused.
    "take_refusal",
    # Shows a line to whoever watches the cell. Of lines in quick succession only the last.
    "show",
)

# Called before each question.
before_asking = None

# True while code of a namespace runs outside a cell: when it is loaded or saved.
_is_closed = False


def connect(*functions):
    globals().update(zip(FUNCTIONS, functions))


def ask(question):
    """Returns the reply. A refusal is a CommandError; files that could not be saved before are an OSError."""
    if _is_closed:
        raise CommandError("not-now", "Code that runs while a namespace is loaded or saved cannot call commands.")
    before_asking()
    answer = json.loads(_ask(json.dumps(question, default=from_arguments, allow_nan=False)))
    if "unsaved" in answer:
        raise PermissionError(answer["unsaved"])
    if "error" in answer:
        raise CommandError(answer["error"]["code"], answer["error"]["text"])
    return answer


class watched:
    """A context in which a KeyboardInterrupt ends what takes longer than the cell's time, or in which none does.

    `limit_ms`: another limit, from now on.
    """

    def __init__(self, is_watched, limit_ms=None):
        self.is_watched, self.limit_ms = is_watched, limit_ms

    def __enter__(self):
        self.before = _watch_time(self.is_watched, self.limit_ms)

    def __exit__(self, *_):
        _watch_time(self.before, None)


class closed:
    """A context in which nothing can be asked."""

    def __enter__(self):
        global _is_closed
        self.before, _is_closed = _is_closed, True

    def __exit__(self, *_):
        global _is_closed
        _is_closed = self.before
