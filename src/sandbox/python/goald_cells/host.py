"""host.py -- what this process asks its host. Set once by python-engine.ts. Each call blocks."""

import json

from .errors import CommandError
from .plain import from_arguments

# Functions of JavaScript. The texts are JSON.
_ask = None
_start_code = None
_end_code = None
_watch_time = None
_time_left_ms = None
_pause = None
_take_refusal = None
_print = None

# Called before each question.
before_asking = None

# True while code of a namespace runs outside a cell: when it is loaded or saved.
_is_closed = False


def connect(ask, start_code, end_code, watch_time, time_left_ms, pause, take_refusal, print_line):
    global _ask, _start_code, _end_code, _watch_time, _time_left_ms, _pause, _take_refusal, _print
    _ask, _start_code, _end_code = ask, start_code, end_code
    _watch_time, _time_left_ms, _pause, _take_refusal = watch_time, time_left_ms, pause, take_refusal
    _print = print_line


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


def start_code():
    _start_code()


def end_code():
    """The code of the cell has ended. Saves its files. Returns why they could not be saved; None when they are."""
    return _end_code() or None


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


def time_left_ms():
    return _time_left_ms()


def pause(seconds):
    _pause(seconds * 1000)


class closed:
    """A context in which nothing can be asked."""

    def __enter__(self):
        global _is_closed
        self.before, _is_closed = _is_closed, True

    def __exit__(self, *_):
        global _is_closed
        _is_closed = self.before


def show(line):
    """Shows a line to whoever watches the cell. Of lines in quick succession only the last."""
    _print(line)


def take_refusal():
    """Why the last file could not be read, once; empty when none was refused."""
    return _take_refusal()
