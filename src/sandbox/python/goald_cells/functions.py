"""functions.py -- what a namespace offers: commands as functions, sub-tasks, stop(), and the person's location."""

import inspect

from . import host
from .errors import CommandError, StopCell
from .return_types import schema_of, to_type


def make_function(spec):
    """A command as a function. Its arguments go by position, in the order of the parameters, or by name."""
    name, parameters = spec["name"], [parameter["name"] for parameter in spec["parameters"]]

    def function(*positional, **named):
        return host.ask({"what": "call", "name": name, "args": _bind(name, parameters, positional, named)})["value"]

    function.__name__ = function.__qualname__ = name
    function.__module__ = "__main__"
    function.__doc__ = f"{spec['signature']}\n\n{spec['doc']}"
    function.__signature__ = _signature(spec["parameters"])
    return function


def _bind(name, parameters, positional, named):
    """The host says which parameters are missing."""
    if len(positional) > len(parameters):
        raise TypeError(f"{name}() takes {len(parameters)} arguments, but {len(positional)} were given.")
    args = dict(zip(parameters, positional))
    for key, value in named.items():
        if key not in parameters:
            known = f"Its arguments are {', '.join(parameters)}." if parameters else "It takes none."
            raise TypeError(f"{name}() has no argument {key!r}. {known}")
        if key in args:
            raise TypeError(f"{name}() got two values for {key!r}.")
        args[key] = value
    return args


def _signature(parameters):
    """Optional parameters may come before required ones. Python then shows the later ones as parameters by name."""
    made, kind, has_optional = [], inspect.Parameter.POSITIONAL_OR_KEYWORD, False
    for parameter in parameters:
        if has_optional and parameter["isRequired"]:
            kind = inspect.Parameter.KEYWORD_ONLY
        has_optional = has_optional or not parameter["isRequired"]
        default = inspect.Parameter.empty if parameter["isRequired"] else None
        try:
            made.append(inspect.Parameter(parameter["name"], kind, default=default))
        except ValueError:
            return None
    return inspect.Signature(made)


class Agent:
    """Gives tasks to the model. Each one runs on its own messages, in this namespace."""

    __slots__ = ()

    def run(self, task, return_type=str, form=None):
        """Gives the model a task and returns its result as a value of `return_type`."""
        if not isinstance(task, str):
            raise TypeError(f"A task is a str, not {type(task).__name__}.")
        question = {"what": "run", "task": task, "returns": schema_of(return_type), "form": form}
        return to_type(host.ask(question)["value"], return_type)

    def __call__(self, task, return_type=str, form=None):
        return self.run(task, return_type, form)

    def __reduce__(self):
        return "agent"

    def __repr__(self):
        return "<agent>"


agent = Agent()


def stop(value=None):
    """Ends the cell, and with it the work: everything is done. `value` is the result."""
    raise StopCell(value)


def make_get_user_location(location):
    def get_user_location():
        """get_user_location() -> dict: where the user is."""
        if location is None:
            raise CommandError("no-location", "Nobody has set the user's location: the setting `sandbox.location`.")
        return dict(location)

    get_user_location.__module__, get_user_location.__qualname__ = "__main__", "get_user_location"
    return get_user_location


agent.__class__.__module__ = "__main__"
stop.__module__ = "__main__"
