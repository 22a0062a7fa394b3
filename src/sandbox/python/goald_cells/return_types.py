"""return_types.py -- Python types as JSON Schema, and valid JSON as values of these types."""

import dataclasses
import enum
import types
import typing

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_SUPPORTED = (
    "str, int, float, bool, None, list, dict, set, tuple, Optional, Union, Literal, Any, an Enum, a dataclass, a TypedDict, "
    "or a JSON Schema as a dict"
)


def schema_of(kind):
    """Raises TypeError for a type that JSON cannot hold."""
    return _schema(kind, ())


def _schema(kind, outer):
    if isinstance(kind, dict):
        return kind
    kind = type(None) if kind is None else kind
    if kind in outer:
        raise TypeError(f"{_name(kind)} contains itself, which return_type does not support.")
    if isinstance(kind, type) and kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if kind is typing.Any or kind is object:
        return {}
    if kind in (list, tuple, set, frozenset):
        return {"type": "array"}
    if kind is dict:
        return {"type": "object"}
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is not None:
        return _generic_schema(kind, origin, inner, outer)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or typing.is_typeddict(kind)):
        hints, required = _fields(kind)
        properties = {name: _schema(hint, (*outer, kind)) for name, hint in hints.items()}
        return {
            "type": "object",
            "title": kind.__name__,
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
    raise TypeError(f"return_type {_name(kind)} is not supported. Use {_SUPPORTED}.")


def _generic_schema(kind, origin, inner, outer):
    if origin in (list, set, frozenset):
        return {"type": "array", "items": _schema(inner[0], outer)}
    if origin is tuple:
        if len(inner) == 2 and inner[1] is Ellipsis:
            return {"type": "array", "items": _schema(inner[0], outer)}
        items = [_schema(one, outer) for one in inner]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    if origin is dict:
        if inner[0] is not str:
            raise TypeError("The keys of a dict are str in JSON: use dict[str, ...].")
        return {"type": "object", "additionalProperties": _schema(inner[1], outer)}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(one, outer) for one in inner]}
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return _schema(inner[0], outer)
    raise TypeError(f"return_type {_name(kind)} is not supported. Use {_SUPPORTED}.")


def _fields(kind):
    """Types by name, and the names that must be there."""
    hints = typing.get_type_hints(kind)
    if typing.is_typeddict(kind):
        return hints, [name for name in hints if name in kind.__required_keys__]
    fields = [field for field in dataclasses.fields(kind) if field.init]
    missing = dataclasses.MISSING
    required = [f.name for f in fields if f.default is missing and f.default_factory is missing]
    return {field.name: hints[field.name] for field in fields}, required


def _name(kind):
    return getattr(kind, "__name__", None) or repr(kind)


def to_type(value, kind, where="The result"):
    """The value as the type. Raises TypeError when it does not fit."""
    kind = type(None) if kind is None else kind
    if isinstance(kind, dict) or kind is typing.Any or kind is object:
        return value
    if isinstance(kind, type) and kind in _SIMPLE:
        return _to_simple(value, kind, where)
    if kind in (list, tuple, set, frozenset):
        return kind(_expect(value, list, kind, where))
    if kind is dict:
        return _expect(value, dict, kind, where)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is not None:
        return _to_generic(value, kind, origin, inner, where)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _to_member(value, kind, where)
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or typing.is_typeddict(kind)):
        hints, _ = _fields(kind)
        fields = _expect(value, dict, kind, where).items()
        if unknown := [name for name, _ in fields if name not in hints]:
            raise TypeError(f"{where}: {_name(kind)} has no field {unknown[0]!r}.")
        return kind(**{name: to_type(one, hints[name], f"{where}.{name}") for name, one in fields})
    raise _misfit(value, kind, where)


def _to_member(value, kind, where):
    try:
        return kind(value)
    except ValueError:
        raise _misfit(value, kind, where) from None


def _to_simple(value, kind, where):
    if kind is float and type(value) is int:
        return float(value)
    if kind is int and type(value) is float and value.is_integer():
        return int(value)
    if type(value) is kind:
        return value
    raise _misfit(value, kind, where)


def _to_generic(value, kind, origin, inner, where):
    if origin in (list, set, frozenset):
        items = _expect(value, list, kind, where)
        return origin(to_type(one, inner[0], f"{where}[{i}]") for i, one in enumerate(items))
    if origin is tuple:
        items = _expect(value, list, kind, where)
        kinds = [inner[0]] * len(items) if len(inner) == 2 and inner[1] is Ellipsis else inner
        if len(kinds) != len(items):
            raise _misfit(value, kind, where)
        return tuple(to_type(one, each, f"{where}[{i}]") for i, (one, each) in enumerate(zip(items, kinds)))
    if origin is dict:
        fields = _expect(value, dict, kind, where).items()
        return {name: to_type(one, inner[1], f"{where}[{name!r}]") for name, one in fields}
    if origin is typing.Literal:
        for one in inner:
            if one == value and type(one) is type(value):
                return one
        raise _misfit(value, kind, where)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return to_type(value, inner[0], where)
    return _to_union(value, kind, inner, where)


def _to_union(value, kind, inner, where):
    # A value of exactly this type comes first: 1 is an int in `float | int`.
    for one in sorted(inner, key=lambda each: type(value) is not each):
        try:
            return to_type(value, one, where)
        except (TypeError, ValueError):
            continue
    raise _misfit(value, kind, where)


def _expect(value, json_kind, kind, where):
    if type(value) is json_kind:
        return value
    raise _misfit(value, kind, where)


def _misfit(value, kind, where):
    return TypeError(f"{where}: expected {_name(kind)}, got {type(value).__name__}: {repr(value)[:80]}")
