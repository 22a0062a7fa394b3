"""definitions.py -- finds what a cell defined: imports, functions, classes, as source that defines them again."""

import ast
import sys
import types
import typing


def find_definitions(tree, source, code, names):
    """Yields (name, source, object) in the order of the source, for definitions that the cell has executed.

    `code`: the code objects that the cell was compiled to. A function counts only if its code is one of them, so that a branch
    that was not taken defines nothing.
    """
    own = _all_code(code)
    for node in _statements(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _imports(node, names)
            continue
        for name, text in _candidates(node, source):
            if name in names and _is_from(node, names[name], own):
                yield name, text, names[name]


def _statements(tree):
    """Statements of the module itself, also those inside `if`, `for`, `with` and `try`."""
    for node in tree.body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _inner_statements(node)


def _inner_statements(node):
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, field, None)
        if isinstance(inner, list):
            yield from _statements(types.SimpleNamespace(body=inner))


def _candidates(node, source):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name, _source_of(node, source)
    elif isinstance(node, ast.TypeAlias):
        yield node.name.id, ast.unparse(node)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, (ast.Lambda, ast.Call)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                yield target.id, f"{target.id} = {ast.unparse(node.value)}"


def _imports(node, names):
    """Names that still mean what the import gave them: the import may have failed, or its name may be another thing now."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            text = f"import {alias.name} as {name}" if alias.asname else f"import {alias.name}"
            module = sys.modules.get(alias.name if alias.asname else name)
            if module is not None and names.get(name) is module:
                yield name, text, module
        return
    module = sys.modules.get(node.module or "")
    for alias in node.names:
        wanted = dir(module) if alias.name == "*" else [alias.name]
        for given in wanted:
            name = alias.asname or given
            if name in names and names[name] is getattr(module, given, _MISSING) and _is_public(alias, given):
                text = f"from {node.module} import {given}"
                yield name, f"{text} as {name}" if alias.asname else text, names[name]


_MISSING = object()


def _is_public(alias, name):
    return alias.name != "*" or not name.startswith("_")


def _source_of(node, source):
    lines = source.splitlines(keepends=True)
    text = "".join(lines[_first_line(node) - 1 : node.end_lineno])
    # Longer texts inside keep their own indentation.
    return f"if True:\n{text}" if node.col_offset else text


def _is_from(node, value, own):
    """True if this statement made the value."""
    if isinstance(node, ast.TypeAlias):
        return isinstance(value, typing.TypeAliasType)
    if isinstance(node, ast.ClassDef):
        return not isinstance(value, type) or getattr(value, "__firstlineno__", None) == _first_line(node)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        code = getattr(_unwrap(value), "__code__", None)
        # A decorator may have made anything.
        return _is_code_of(code, node, own) if code else bool(node.decorator_list)
    if isinstance(node.value, ast.Lambda):
        return isinstance(value, types.FunctionType) and _is_code_of(value.__code__, node.value, own)
    # Such as a namedtuple: a class that a call has made.
    return isinstance(value, type) and value.__module__ == "__main__" and not hasattr(value, "__firstlineno__")


def _is_code_of(code, node, own):
    """Two branches may define the same name."""
    return id(code) in own and code.co_firstlineno == _first_line(node)


def _first_line(node):
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])


def _unwrap(value):
    for _ in range(20):
        inner = getattr(value, "__wrapped__", None)
        if inner is None:
            break
        value = inner
    return value


def _all_code(codes):
    """The ids of these code objects and of all inside them. The caller keeps them alive."""
    found, pending = set(), list(codes)
    while pending:
        code = pending.pop()
        found.add(id(code))
        pending.extend(one for one in code.co_consts if isinstance(one, types.CodeType))
    return found
