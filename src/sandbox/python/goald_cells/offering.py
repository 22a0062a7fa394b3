"""offering.py -- what goald offers to a cell: commands, sub-tasks, helpers of the home."""

import datetime
import os
import sys
import types

from . import functions
from .errors import CommandError, describe_error

# By name: what each was made of, and the same object as before, so that a name that still means it is seen to.
_functions = {}
# Functions of the last cell. The next one may have the same.
_commands = {}
_modules = {}


def offered_to(cell, files):
    """Names and what they mean. `files` knows the names of files in errors."""
    offered = {
        "agent": functions.agent,
        "CommandError": CommandError,
        "datetime": datetime.datetime,
        "date": datetime.date,
        "timedelta": datetime.timedelta,
    }
    if "functions" in cell:
        _commands.clear()
        _commands.update({spec["name"]: _function_of(spec) for spec in cell["functions"]})
    offered |= _commands
    if "location" in cell:
        offered["get_user_location"] = functions.make_get_user_location(cell["location"])
    if cell.get("hasStop"):
        offered["stop"] = functions.stop
    for module in cell["modules"]:
        offered |= _names_of(module, offered, files)
    return offered


def _function_of(spec):
    """The same function as before, so that a name that still means it is seen to."""
    known = _functions.get(spec["name"])
    if not known or known[0] != spec:
        _functions[spec["name"]] = known = (spec, functions.make_function(spec))
    return known[1]


def _names_of(module, offered, files):
    """The public names that a file of helpers defines."""
    known = _modules.get(module["file"])
    if not known or known[0] != module["source"]:
        _modules[module["file"]] = known = (module["source"], _load_module(module, files))
    made = known[1]
    if made is None:
        return {}
    made.__dict__.update({name: value for name, value in offered.items() if name not in made.__goald_names__})
    return {name: made.__dict__[name] for name in made.__goald_names__}


def _load_module(module, files):
    name = module["file"].removesuffix(".py")
    made = types.ModuleType(name)
    sys.modules[name] = made
    file = files.add(module["file"], module["source"])
    # A file that ends the process while it is loaded would end it for every cell, and no result would name the file.
    end_process, os._exit = os._exit, sys.exit
    try:
        exec(compile(module["source"], file, "exec"), made.__dict__)
    except BaseException as error:
        problem = describe_error(error, file, files)
        where = f", line {problem['line']}" if problem["line"] else ""
        print(f"{module['file']}{where} could not be loaded: {problem['type']}: {problem['message']}")
        return None
    finally:
        os._exit = end_process
    made.__goald_names__ = [
        key for key, one in made.__dict__.items() if not key.startswith("_") and getattr(one, "__module__", None) == name
    ]
    return made
