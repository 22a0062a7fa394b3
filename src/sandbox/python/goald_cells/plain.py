"""plain.py -- turns Python values into plain data that JSON can hold."""

import dataclasses
import datetime
import enum
import math
import pathlib

MAX_DEPTH = 64
MAX_ITEMS = 200_000
# Larger integers would lose digits as numbers of JSON.
MAX_INTEGER = 2**53 - 1


class NotPlain(Exception):
    """The value is not plain data."""


def to_plain(value):
    """A copy of the value as plain data. Raises NotPlain when it is none."""
    return _Copier().copy(value, 0)


class _Copier:
    def __init__(self):
        self.items = 0

    def copy(self, value, depth):
        self.items += 1
        if depth > MAX_DEPTH or self.items > MAX_ITEMS:
            raise NotPlain
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int and abs(value) <= MAX_INTEGER:
            return value
        if kind is float and math.isfinite(value):
            return value
        if kind in (list, tuple):
            return [self.copy(one, depth + 1) for one in value]
        if kind in (set, frozenset):
            return [self.copy(one, depth + 1) for one in _in_order(value)]
        if isinstance(value, dict):
            return {self.key(key): self.copy(one, depth + 1) for key, one in value.items()}
        return self.copy_object(value, depth)

    def copy_object(self, value, depth):
        if isinstance(value, enum.Enum):
            return self.copy(value.value, depth + 1)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: self.copy(getattr(value, f.name), depth + 1) for f in dataclasses.fields(value)}
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat()
        if isinstance(value, pathlib.PurePath):
            return str(value)
        if isinstance(value, tuple):
            return [self.copy(one, depth + 1) for one in value]
        raise NotPlain

    def key(self, key):
        if type(key) is str:
            return key
        if type(key) is int:
            return str(key)
        if isinstance(key, enum.Enum):
            return self.key(key.value)
        raise NotPlain


def _in_order(values):
    """Sets have no order of their own."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def from_arguments(value):
    """For json.dumps: what a command gets in place of a value that JSON does not know."""
    try:
        return to_plain(value)
    except NotPlain:
        raise TypeError(f"A value of type {type(value).__name__} cannot be sent. Send plain data.") from None
