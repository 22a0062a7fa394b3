"""own_modules.py -- modules that are files of the agent's folder: a changed file is imported anew by the next cell."""

import sys

FOLDER = "/workspace"

# Module name: (file, source) as imported.
_sources = {}


def note():
    """Called after a cell."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) if name != "__main__" else None
        if isinstance(file, str) and file.startswith(f"{FOLDER}/") and name not in _sources:
            _sources[name] = (file, _read(file))


def forget_changed():
    """Called before a cell. Objects of a module that is forgotten keep their old class."""
    forget_listings()
    for name, (file, source) in list(_sources.items()):
        if _read(file) != source:
            del _sources[name]
            sys.modules.pop(name, None)


def forget_listings():
    """As importlib.invalidate_caches(), which loads more than it forgets."""
    for finder in list(sys.path_importer_cache.values()):
        if hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()


def _read(file):
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except OSError:
        return None
