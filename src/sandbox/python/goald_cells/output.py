"""output.py -- collects what a cell prints, and cuts long texts in the middle."""

import codecs
import io

from . import host

MAX_OUTPUT_CHARS = 65_536
MAX_VALUE_CHARS = 65_536
# Of a line that is shown while the cell runs; the host refuses more than twice as many.
MAX_SHOWN_CHARS = 200


class Output(io.TextIOBase):
    """Both streams of one cell: keeps the first and the last part."""

    def __init__(self, limit=MAX_OUTPUT_CHARS - 100):
        self.half = limit // 2
        self.start, self.start_chars = [], 0
        self.end, self.end_chars = [], 0
        self.dropped_chars = 0
        # The beginning of the line that is not finished.
        self.line = ""
        self.buffer = _Bytes(self)

    @property
    def encoding(self):
        return "utf-8"

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        count = len(text)
        self._show(text)
        if self.start_chars < self.half:
            taken = text[: self.half - self.start_chars]
            self.start.append(taken)
            self.start_chars += len(taken)
            text = text[len(taken) :]
        if text:
            self.end.append(text)
            self.end_chars += len(text)
            if self.end_chars > 2 * self.half:
                self._shorten_end()
        return count

    def _show(self, text):
        """Shows the last finished line that has words. A carriage return ends one too, as in a progress bar."""
        line = self.line + text
        if "\n" not in text and "\r" not in text:
            self.line = line[: 2 * MAX_SHOWN_CHARS]
            return
        *lines, rest = line.replace("\r", "\n").split("\n")
        self.line = rest[: 2 * MAX_SHOWN_CHARS]
        shown = next((line for line in reversed(lines) if line.strip()), None)
        if shown:
            host.show(_beginning(shown.strip()))

    def _shorten_end(self):
        whole = "".join(self.end)
        kept = whole[-self.half :]
        self.dropped_chars += len(whole) - len(kept)
        self.end, self.end_chars = [kept], len(kept)

    @property
    def is_cut(self):
        return self.dropped_chars > 0 or self.end_chars > self.half

    def text(self):
        if self.end_chars > self.half:
            self._shorten_end()
        gap = f"\n... {self.dropped_chars} characters left out ...\n" if self.dropped_chars else ""
        return "".join(self.start) + gap + "".join(self.end)


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`: bytes are text in UTF-8."""

    def __init__(self, output):
        self.output = output
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        self.output.write(self.decoder.decode(data))
        return len(data)


def _beginning(line):
    """Whole words: half a key would not be recognised as one."""
    if len(line) <= MAX_SHOWN_CHARS:
        return line
    words = line[:MAX_SHOWN_CHARS].rsplit(None, 1)
    return f"{words[0]} …" if len(words) == 2 else "…"


def cut_middle(text, limit=MAX_VALUE_CHARS):
    if len(text) <= limit:
        return text
    half = limit // 2 - 30
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
