"""imports.py -- which modules the code of cells may import. A convenience for the model, not the boundary."""

import builtins
import sys

from .own_modules import forget_listings

_import = builtins.__import__

# What reaches beyond the sandbox, or does not work in it.
UNSAFE = frozenset(
    """_ctypes _interpreters _posixsubprocess _pyodide _pyodide_core _socket _testcapi _testinternalcapi _thread code codeop
    concurrent ctypes ensurepip faulthandler ftplib gc goald_cells imaplib importlib js micropip multiprocessing pdb pip
    pkgutil poplib pyodide pyodide_js runpy signal site smtplib socket socketserver ssl subprocess sysconfig telnetlib
    threading venv webbrowser zipimport""".split()
)
UNSAFE_SUBMODULES = frozenset(["http.client", "http.server", "urllib.request", "xmlrpc.client", "xmlrpc.server"])


class ImportRule:
    """Applies to imports in the namespace itself. Libraries import what they need."""

    def __init__(self, names):
        self.names = names
        self.rule = "all"
        builtins.__import__ = self._checked_import

    def _checked_import(self, name, globals=None, locals=None, fromlist=(), level=0):
        asking = sys._getframe(1).f_globals if globals is None else globals
        if asking is not self.names:
            return _import(name, globals, locals, fromlist, level)
        self._check(name, fromlist or ())
        try:
            return self._import_fresh(name, globals, locals, fromlist, level)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"No module named {error.name!r}. The sandbox has Python's standard library and the files of the folder: "
                "import sub/a.py as sub.a.",
                name=error.name,
            ) from None

    def _import_fresh(self, *wanted):
        try:
            return _import(*wanted)
        except ModuleNotFoundError:
            # The code may have written the file just now.
            forget_listings()
            return _import(*wanted)

    def _check(self, name, fromlist):
        if self.rule == "none":
            raise ImportError(
                f"Importing {name} is not allowed here. Use method_search(description) to find a function.", name=name
            )
        if self.rule != "safe":
            return
        wanted = {name, *(f"{name}.{part}" for part in fromlist)}
        if name.partition(".")[0] in UNSAFE or wanted & UNSAFE_SUBMODULES:
            raise ImportError(f"{name} is not available in the sandbox.", name=name)
