"""saving.py -- values as pickles, and plain reasons for those that cannot be kept."""

import base64
import inspect
import io
import pickle
import types

from . import host

# All of a namespace. protocol.ts has the same number.
MAX_SAVED_BYTES = 8 * 1024 * 1024
MAX_VALUE_MS = 500


class Lost(Exception):
    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


class _TooLarge(Exception):
    pass


class _Limited:
    """A file that takes a limited number of bytes."""

    def __init__(self):
        self.pieces, self.bytes = [], 0

    def write(self, piece):
        self.bytes += len(piece)
        if self.bytes > MAX_SAVED_BYTES:
            raise _TooLarge
        self.pieces.append(bytes(piece))
        return len(piece)


class _Pickler(pickle.Pickler):
    def __init__(self, file, is_known):
        super().__init__(file, protocol=5)
        self.is_known = is_known

    def reducer_override(self, value):
        if isinstance(value, (type, types.FunctionType)) and value.__module__ == "__main__":
            if "<locals>" in value.__qualname__:
                raise Lost(f"{value.__qualname__} was made inside a function, and cannot be kept")
            if value.__qualname__ == "<lambda>" and not self.is_known(value, value.__name__):
                raise Lost("a lambda without a name cannot be kept")
            if not self.is_known(value, value.__qualname__):
                raise Lost(f"the definition of {value.__qualname__} is not known any more")
        return NotImplemented


def pickle_value(value, is_known):
    """The value as base64. Raises Lost."""
    if reason := _reason_of(value):
        raise Lost(reason)
    if host.time_left_ms() <= 0:
        raise Lost("there was no time left to keep it")
    file = _Limited()
    try:
        with host.watched(True, MAX_VALUE_MS):
            _Pickler(file, is_known).dump(value)
    except Lost:
        raise
    except _TooLarge:
        raise Lost("it is too large to be kept: save it in a file") from None
    except KeyboardInterrupt:
        raise Lost("it took too long to keep it") from None
    except MemoryError:
        raise Lost("there was no memory left to keep it") from None
    except RecursionError:
        raise Lost("it is nested too deeply to be kept") from None
    except BaseException as error:
        raise Lost(_words_of(value, error)) from None
    return base64.b64encode(b"".join(file.pieces)).decode("ascii")


def unpickle_value(text):
    return pickle.loads(base64.b64decode(text))


def _reason_of(value):
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return "a generator cannot be kept"
    if inspect.iscoroutine(value):
        return "a coroutine cannot be kept"
    if isinstance(value, io.IOBase) and not isinstance(value, (io.BytesIO, io.StringIO)):
        return "an open file cannot be kept"
    if type(value).__module__ in ("socket", "_socket"):
        return "a socket cannot be kept"
    return None


def _words_of(value, error):
    """Such as `cannot pickle 'generator' object`, in plain words."""
    try:
        kind, text = type(value).__name__, str(error)
    except BaseException:
        return "it cannot be kept"
    inner = text.split("'")[1] if text.startswith("cannot pickle '") else None
    if inner and inner.rpartition(".")[2] != kind:
        return f"a {kind} that holds a {inner.rpartition('.')[2]} cannot be kept"
    return f"a {kind} cannot be kept"
