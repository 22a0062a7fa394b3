"""namespace.py -- the names of all cells: what goald offers, what code defined, and what of it can be kept."""

import io
import sys
import types

from . import host
from .saving import MAX_SAVED_BYTES, Lost, pickle_value, unpickle_value


class Namespace:
    """Is the module `__main__`, so that pickles find classes and functions of cells."""

    def __init__(self):
        self.module = types.ModuleType("__main__")
        self.names = self.module.__dict__
        self.offered = {}
        # Name: (source, object). Holds as long as the name has this object.
        self.definitions = {}

    def offer(self, offered):
        """Replaces what goald offers. A name that code has given another meaning keeps it."""
        for name, value in self.offered.items():
            if name not in offered and self.names.get(name) is value:
                del self.names[name]
        for name, value in offered.items():
            if name not in self.names or self.names[name] is self.offered.get(name):
                self.names[name] = value
        self.offered = dict(offered)

    def define(self, name, source, value):
        before = self.definitions.pop(name, None)
        # `import a.b` and `import a.c` define the same name.
        if before and before[1] is value and isinstance(value, types.ModuleType) and source not in before[0].split("\n"):
            source = f"{before[0]}\n{source}"
        self.definitions[name] = (source, value)

    def flush_files(self):
        """Open files of the namespace: what was written to them is in the folder."""
        for value in list(self.names.values()):
            if isinstance(value, io.IOBase) and not isinstance(value, (io.BytesIO, io.StringIO)):
                try:
                    value.flush()
                except Exception:
                    continue

    # ------------------------------------------------------------ save

    def save(self):
        """Returns definitions, values and what is lost."""
        self.definitions = {name: one for name, one in self.definitions.items() if self._is_defined(name)}
        definitions = {name: source for name, (source, _) in self.definitions.items()}
        values, lost = {}, []
        left = MAX_SAVED_BYTES - sum(len(name) + len(source.encode()) for name, source in definitions.items())
        with host.closed():
            for name, value in list(self.names.items()):
                if not self._is_own(name, value) or name in definitions or _is_closed_file(value):
                    continue
                if isinstance(value, types.ModuleType):
                    definitions[name] = f"import {value.__name__} as {name}"
                    continue
                try:
                    values[name] = pickle_value(value, self._is_known)
                except Lost as error:
                    lost.append({"name": name, "reason": error.reason})
        return definitions, values, lost + _drop_largest(values, left)

    def _is_own(self, name, value):
        is_offered = name in self.offered and value is self.offered[name]
        return not (name.startswith("__") and name.endswith("__")) and not is_offered

    def _is_defined(self, name):
        return name in self.names and self.names[name] is self.definitions[name][1]

    def _is_known(self, value, qualified_name):
        """True if a function or class of cells will be there when its pickle is read."""
        name = qualified_name.partition(".")[0]
        if name in self.definitions and self._is_defined(name):
            return True
        return name in self.offered and self.names.get(name) is self.offered[name]

    # ------------------------------------------------------------ load

    def load(self, definitions, values):
        """Defines and reads all. What needs others comes after them. Returns what could not be loaded."""
        pending = [*(("definition", name, text) for name, text in definitions)]
        pending += [("value", name, text) for name, text in values.items()]
        problems = {}
        with host.closed():
            while pending:
                failed = []
                for one in pending:
                    if problem := self._load_one(*one):
                        failed.append(one)
                        problems[one[1]] = problem
                if len(failed) == len(pending):
                    break
                pending = failed
        names = [name for _, name, _ in pending]
        return [{"name": name, "reason": f"it could not be loaded: {problems[name]}"} for name in names]

    def _load_one(self, kind, name, text):
        """Returns why it failed; None when it did not."""
        try:
            with host.watched(True):
                if kind == "value":
                    self.names[name] = unpickle_value(text)
                else:
                    exec(compile(text, _restored_file(name, text), "exec"), self.names)
        except BaseException as error:
            return type(error).__name__
        self.definitions.pop(name, None)
        if kind == "definition" and name in self.names:
            self.definitions[name] = (text, self.names[name])
        return None

    def apply(self, change):
        """Does again what nested cells did."""
        for name, text in [*change["definitions"], *change["values"].items()]:
            if text is None:
                self.names.pop(name, None)
                self.definitions.pop(name, None)
        definitions = [(name, source) for name, source in change["definitions"] if source is not None]
        return self.load(definitions, {name: text for name, text in change["values"].items() if text is not None})


def _is_closed_file(value):
    """Such as the `f` of `with open(...) as f`: nobody misses it."""
    return isinstance(value, io.IOBase) and value.closed


def _restored_file(name, source):
    import linecache

    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return file


def _drop_largest(values, left):
    lost = []
    total = sum(len(name) + len(text) for name, text in values.items())
    for name in sorted(values, key=lambda one: -len(values[one])):
        if total <= left:
            break
        megabytes = len(values[name]) / 1024 / 1024
        total -= len(name) + len(values.pop(name))
        lost.append({"name": name, "reason": f"it is too large to be kept ({megabytes:.1f} MB): save it in a file"})
    return lost


def difference(before, after):
    """The change between two saved states, each (definitions, values, lost)."""
    definitions = [[name, source] for name, source in after[0].items() if before[0].get(name) != source]
    definitions += [[name, None] for name in before[0] if name not in after[0]]
    values = {name: text for name, text in after[1].items() if before[1].get(name) != text}
    values |= {name: None for name in before[1] if name not in after[1]}
    # A value that became a definition, or the other way round, is not removed.
    defined, valued = set(after[0]), set(after[1])
    definitions = [one for one in definitions if one[1] is not None or one[0] not in valued]
    values = {name: text for name, text in values.items() if text is not None or name not in defined}
    return {"definitions": definitions, "values": values}


def install(namespace):
    sys.modules["__main__"] = namespace.module
