"""Configuration files as text: bytes in, one member changed, bytes out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from clew.hosts.files import jsonc_edit, toml_edit
from clew.hosts.files.jsonc import JsoncError
from clew.hosts.files.jsonc_edit import Edit, Trace
from clew.hosts.files.toml_edit import others, value_at
from clew.hosts.model import Format
from clew.kit.errors import ClewError, Invalid

_BOM = "\ufeff"
_UNCHANGED = "Nothing was changed. Repair the file, then run this again."
_TOML_PLACE = re.compile(
    r"(?P<reason>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)", re.DOTALL
)


class _Editor(NamedTuple):
    """How one format is read and changed."""

    load: Callable[[str], Any]
    is_blank: Callable[[str], bool]
    put: Callable[[str, tuple[str, ...], object], Edit]
    remove: Callable[[str, tuple[str, ...], Trace], str]


_JSON = _Editor(jsonc_edit.load, jsonc_edit.is_blank, jsonc_edit.put, jsonc_edit.remove)
_TOML = _Editor(toml_edit.load, toml_edit.is_blank, toml_edit.put, toml_edit.remove)


@dataclass(frozen=True)
class ConfigText:
    """The text of one configuration file, with what a message about it needs."""

    path: Path
    format: Format
    text: str
    bom: str = ""

    @classmethod
    def from_bytes(cls, path: Path, file_format: Format, data: bytes | None) -> ConfigText:
        """Decode a file's bytes; a file that is not there counts as empty."""
        try:
            text = (data or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            line = (data or b"").count(b"\n", 0, error.start) + 1
            raise Invalid(f"{path}:{line}: not UTF-8 text", _UNCHANGED) from error
        bom = _BOM if text.startswith(_BOM) else ""
        return cls(path, file_format, text[len(bom) :], bom)

    def to_bytes(self, text: str) -> bytes:
        """The bytes of a changed text of this file."""
        return (self.bom + text).encode("utf-8")

    def entry(self, path: tuple[str, ...]) -> Any:
        """The value at this path, or None."""
        return self._guarded(lambda: self._value(path))

    def _value(self, path: tuple[str, ...]) -> Any:
        value = value_at(self._editor.load(self.text), path)
        if self.format != "toml":  # TOML itself forbids duplicate keys
            jsonc_edit.refuse_doubles(self.text, path)
        return value

    def put(self, path: tuple[str, ...], value: object) -> Edit:
        """The text with this value at this path."""
        edit: Edit = self._guarded(lambda: self._editor.put(self.text, path, value))
        self._prove(edit.text, path, value)
        return edit

    def remove(self, path: tuple[str, ...], trace: Trace) -> str:
        """The text without the member at this path."""
        text: str = self._guarded(lambda: self._editor.remove(self.text, path, trace))
        return text

    def is_blank(self, text: str) -> bool:
        """Whether a text of this format says nothing at all."""
        return self._editor.is_blank(text)

    @property
    def _editor(self) -> _Editor:
        return _TOML if self.format == "toml" else _JSON

    def _guarded(self, action: Callable[[], Any]) -> Any:
        from tomlkit.exceptions import TOMLKitError

        try:
            return action()
        except JsoncError as error:
            where = f"{self.path}:{error.line}:{error.column}"
            raise Invalid(f"{where}: {error.reason}", _UNCHANGED) from error
        except tomllib.TOMLDecodeError as error:
            raise Invalid(f"{self.path}{_toml_reason(error)}", _UNCHANGED) from error
        except RecursionError as error:
            raise Invalid(f"{self.path}: nested too deeply", _UNCHANGED) from error
        except (TOMLKitError, ValueError) as error:  # the latter for a number of 5000 digits too
            raise Invalid(f"{self.path}: {error}", _UNCHANGED) from error

    def _prove(self, text: str, path: tuple[str, ...], value: object) -> None:
        """Refuse a text that does not read back as intended."""
        after = ConfigText(self.path, self.format, text)
        if after.entry(path) != value or others(after.entry(()), path) != others(
            self.entry(()), path
        ):
            raise ClewError(
                f"{self.path}: the entry could not be added without changing something else",
                "Nothing was changed. Add the entry by hand: --print shows it.",
            )


def _toml_reason(error: tomllib.TOMLDecodeError) -> str:
    """What goes after the file's name: the place, which the message has at its end, and why."""
    found = _TOML_PLACE.fullmatch(str(error))
    return ":{line}:{column}: {reason}".format(**found.groupdict()) if found else f": {error}"
