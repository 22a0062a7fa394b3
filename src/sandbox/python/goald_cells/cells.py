"""cells.py -- runs one cell of code, and reports what came of it."""

import ast
import inspect
import io
import json
import random
import sys

from . import clock, host, loops, own_modules
from .definitions import find_definitions
from .errors import CellFiles, StopCell, describe_error, describe_timeout
from .imports import ImportRule
from .namespace import Namespace, difference, install
from .offering import offered_to
from .output import Output, cut_middle
from .plain import NotPlain, to_plain

MAX_JSON_CHARS = 1_000_000
# At the top level of a cell.
MAY_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

namespace = Namespace()
files = CellFiles()
imports = ImportRule(namespace.names)
_depth = 0


def start():
    """Called once, before the first cell."""
    # Nothing but what code writes goes into the folder.
    sys.dont_write_bytecode = True
    install(namespace)
    host.before_asking = namespace.flush_files
    clock.install()
    loops.install()


def run(text):
    """Runs a cell. Takes and returns JSON: see `Engine` in protocol.ts."""
    global _depth
    message = json.loads(text)
    cell, loads = message["cell"], message.get("saved")
    outer = (sys.stdout, sys.stderr, sys.stdin, random.getstate(), imports.rule)
    _depth += 1
    output = Output()
    sys.stdout = sys.stderr = output
    sys.stdin = io.StringIO()
    try:
        with host.watched(False):
            lost = _prepare(cell, loads)
            before = namespace.save() if _depth > 1 else None
            host.start_code()
            return _finish(_execute(cell), output, lost, before)
    finally:
        _depth -= 1
        sys.stdout, sys.stderr, sys.stdin = outer[:3]
        random.setstate(outer[3])
        imports.rule = outer[4]


def apply(text):
    """Applies the change that came with a reply."""
    namespace.apply(json.loads(text))


# ---------------------------------------------------------------- before the code


def _prepare(cell, saved):
    imports.rule = "all"
    own_modules.forget_changed()
    namespace.names["__builtins__"] = __builtins__
    if cell["name"].endswith(".py"):
        namespace.names["__file__"] = f"{own_modules.FOLDER}/{cell['name']}"
    else:
        namespace.names.pop("__file__", None)
    namespace.offer(offered_to(cell, files))
    lost = namespace.load(saved["definitions"], saved["values"]) if saved else []
    if cell.get("redo"):
        lost += namespace.apply(cell["redo"])
    imports.rule = cell["imports"]
    random.seed(cell["seed"])
    return lost


# ---------------------------------------------------------------- the code


def _execute(cell):
    """Runs the code. Returns what the outcome says of it. Never raises."""
    file = files.add(cell["name"], cell["code"])
    code = _Code(cell["code"], file)
    try:
        with host.watched(True):
            outcome = code.run()
    except BaseException as error:
        outcome = {"kind": "failed", "problem": _problem_of(error, file, cell)}
    for name, source, value in code.definitions():
        namespace.define(name, source, value)
    return outcome


class _Code:
    """The code of one cell: statements, and perhaps an expression at its end."""

    def __init__(self, source, file):
        self.source, self.file = source, file
        self.tree, self.compiled = None, []

    def run(self):
        tree = ast.parse(self.source, self.file)
        last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        statements = ast.Module(tree.body[:-1] if last else tree.body, [])
        self.compiled = [compile(statements, self.file, "exec", MAY_AWAIT)]
        if last:
            self.compiled.append(compile(ast.Expression(last.value), self.file, "eval", MAY_AWAIT))
        self.tree = tree
        try:
            value = [_evaluate(one) for one in self.compiled][-1]
            return {"kind": "done", "value": _value_of(value), "stop": None}
        except StopCell as stopped:
            return {"kind": "done", "value": None, "stop": _stop_of(stopped.value)}
        except SystemExit as ended:
            if ended.code:
                raise
            return {"kind": "done", "value": None, "stop": None}

    def definitions(self):
        return find_definitions(self.tree, self.source, self.compiled, namespace.names) if self.tree else ()


def _evaluate(code):
    value = eval(code, namespace.names)
    return loops.run(value) if code.co_flags & inspect.CO_COROUTINE else value


def _value_of(value):
    """A text stands for itself."""
    if value is None:
        return None
    return {"text": cut_middle(value if type(value) is str else repr(value)), **_json_of("json", value)}


def _stop_of(value):
    if value is None:
        return {}
    return _json_of("value", value) or {"value": cut_middle(repr(value))}


def _json_of(key, value):
    try:
        plain = to_plain(value)
    except NotPlain:
        return {}
    return {key: plain} if len(json.dumps(plain)) <= MAX_JSON_CHARS else {}


def _problem_of(error, file, cell):
    if isinstance(error, KeyboardInterrupt) and host.time_left_ms() <= 0:
        return describe_timeout(error, file, cell["timeLimitMs"] / 1000)
    try:
        problem = describe_error(error, file, files)
        if isinstance(error, OSError) and (refusal := host.take_refusal()):
            problem["message"] += f": {refusal}"
        return problem
    except BaseException:
        return {"kind": "error", "type": "Exception", "message": "", "line": None, "source": None}


# ---------------------------------------------------------------- after the code


def _finish(outcome, output, lost, before):
    namespace.flush_files()
    own_modules.note()
    if unsaved := host.end_code():
        outcome = _with_unsaved(outcome, unsaved)
    text, is_cut = output.text(), output.is_cut
    after = namespace.save()
    saved = {"definitions": list(after[0].items()), "values": after[1]}
    change = {} if before is None else {"change": difference(before, after)}
    return json.dumps({**outcome, "output": text, "isCut": is_cut, "saved": saved, "lost": lost + after[2], **change})


def _with_unsaved(outcome, text):
    if outcome["kind"] == "done":
        problem = {"kind": "error", "type": "PermissionError", "message": text, "line": None, "source": None}
    else:
        problem = {**outcome["problem"], "message": f"{outcome['problem']['message']}\n{text}"}
    return {"kind": "failed", "problem": problem}
