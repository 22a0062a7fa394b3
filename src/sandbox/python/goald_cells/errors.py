"""errors.py -- exceptions that cells see, and the words for the exception that ended a cell."""

import linecache
import traceback

MAX_MESSAGE_CHARS = 4_000
# Cells whose source is known. Errors in functions of older ones have no line.
MAX_FILES = 1_000


class CommandError(Exception):
    """A command or a sub-task has failed or was refused. `code` names the problem, `text` describes it."""

    def __init__(self, code, text):
        super().__init__(code, text)
        self.code, self.text = code, text

    def __str__(self):
        return self.text


class StopCell(BaseException):
    """Ends the cell, because its code called stop()."""

    def __init__(self, value):
        super().__init__()
        self.value = value


class CellFiles:
    """The names of files under which cells were compiled, and the names that people read."""

    def __init__(self):
        self.names, self.count = {}, 0

    def add(self, name, source):
        """Two cells may have the same name, and their functions live on."""
        self.count += 1
        file = f"<{name}>" if f"<{name}>" not in self.names else f"<{name} #{self.count}>"
        self.names[file] = name
        if len(self.names) > MAX_FILES:
            oldest = next(iter(self.names))
            del self.names[oldest]
            linecache.cache.pop(oldest, None)
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        return file


def describe_error(error, file, files):
    """The `problem` of a cell: no path of the machine, no lines of libraries."""
    line, source = _find_line(error, file)
    command = {"command": {"code": error.code, "text": error.text}} if _is_command_error(error) else {}
    return {
        "kind": _kind_of(error, file),
        "type": type(error).__name__,
        "message": _message_of(error, file, files),
        "line": line,
        "source": source,
        **_missing_name(error),
        **command,
    }


def describe_timeout(error, file, seconds):
    line, source = _find_line(error, file)
    message = f"The code ran longer than {seconds:g} s and was stopped. Variables are as it left them."
    return {"kind": "timeout", "type": "TimeoutError", "message": message, "line": line, "source": source}


def _kind_of(error, file):
    if isinstance(error, SyntaxError) and error.filename == file:
        return "syntax"
    return "memory" if isinstance(error, MemoryError) else "error"


def _is_command_error(error):
    return isinstance(error, CommandError) and isinstance(error.code, str) and isinstance(error.text, str)


def _missing_name(error):
    name = getattr(error, "name", None)
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError) and isinstance(name, str):
        return {"missingName": name}
    return {}


def _find_line(error, file):
    """The line of the cell's own code that failed, which may have called a function of another cell."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno, (error.text or "").rstrip("\n") or None
    lines = [number for frame_file, number in _frames(error) if frame_file == file and number]
    if not lines:
        return None, None
    return lines[-1], linecache.getline(file, lines[-1]).strip() or None


def _frames(error):
    return [(frame.f_code.co_filename, number) for frame, number in traceback.walk_tb(error.__traceback__)]


def _message_of(error, file, files):
    if isinstance(error, SyntaxError) and error.filename == file:
        return str(error.msg)
    message = _text_of(error)
    if isinstance(error, MemoryError):
        message = message or "The code needs more memory than the sandbox has."
    for frame_file, number in reversed(_frames(error)):
        if frame_file == file:
            break
        if frame_file in files.names and number:
            where = f"{files.names[frame_file]}, line {number}: {linecache.getline(frame_file, number).strip()}"
            return f"{message} (in {where})"
    return message


def _text_of(error):
    try:
        text = str(error)
        notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    except BaseException as second:
        return f"Its message cannot be shown: str() raised {type(second).__name__}."
    text = "\n".join([text, *notes])
    return text if len(text) <= MAX_MESSAGE_CHARS else f"{text[:MAX_MESSAGE_CHARS]}..."
