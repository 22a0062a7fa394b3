"""output.py -- collects what a cell prints, and cuts long texts in the middle."""

import io

MAX_OUTPUT_CHARS = 65_536
MAX_VALUE_CHARS = 65_536


class Output(io.TextIOBase):
    """Both streams of one cell: keeps the first and the last part."""

    def __init__(self, limit=MAX_OUTPUT_CHARS - 100):
        self.half = limit // 2
        self.start, self.start_chars = [], 0
        self.end, self.end_chars = [], 0
        self.dropped_chars = 0

    @property
    def encoding(self):
        return "utf-8"

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        count = len(text)
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


def cut_middle(text, limit=MAX_VALUE_CHARS):
    if len(text) <= limit:
        return text
    half = limit // 2 - 30
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
