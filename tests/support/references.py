"""Which names of a source tree are used: by an AST scan of who imports, names or calls what.

A name counts as used where it is loaded outside of its own definition, loaded by a module that
imports it, taken as an attribute of its module, or named in a string as `module:name`, which is how
handlers, commands and checks are declared. Being listed in `__all__` is no use.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAMED = re.compile(r"\b([a-z]\w*(?:\.\w+)+):(\w+)")


class Definition(NamedTuple):
    """A name that a module defines at its top."""

    module: str
    name: str


def module_name(path: Path, root: Path) -> str:
    """The name under which a file is imported."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def definitions(module: str, tree: ast.Module) -> Iterator[tuple[Definition, ast.stmt]]:
    """What a module defines at its top, each with its statement."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield Definition(module, node.name), node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (one for target in targets for one in ast.walk(target)):
                if isinstance(name, ast.Name) and not name.id.startswith("__"):
                    yield Definition(module, name.id), node


class Uses:
    """What is used in many modules."""

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self._used: set[Definition] = set()
        self._imports: set[tuple[Definition, Definition]] = set()
        for module, tree in trees.items():
            self._take(module, tree)
        while passed := {
            source
            for here, source in self._imports
            if here in self._used and source not in self._used
        }:
            self._used |= passed

    def read(self, text: str) -> None:
        """Take in what a text names as `module:name`."""
        self._used |= {Definition(*found) for found in _NAMED.findall(text)}

    def __contains__(self, wanted: Definition) -> bool:
        return wanted in self._used

    def _take(self, module: str, tree: ast.Module) -> None:
        inside: dict[str, set[ast.AST]] = {}
        for found, statement in definitions(module, tree):
            inside.setdefault(found.name, set()).update(ast.walk(statement))
        listed = {node for one in tree.body if _is_all(one) for node in ast.walk(one)}
        nodes = [node for node in ast.walk(tree) if node not in listed]
        imported = {
            (alias.asname or alias.name, Definition(node.module, alias.name))
            for node in nodes
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
        self._imports |= {(Definition(module, name), source) for name, source in imported}
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                if node not in inside.get(node.id, ()):
                    self._used.add(Definition(module, node.id))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                modules = (source for name, source in imported if name == node.value.id)
                self._used |= {Definition(".".join(one), node.attr) for one in modules}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.read(node.value)


def _is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
    )
