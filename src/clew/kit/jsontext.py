"""Strict JSON for the wire, without the import cost of the standard `json` package.

`json` pulls in `re`, which costs more than the rest of the server's start-up together. Its
C accelerator does the real work and needs neither, so it is used directly; where it is
missing (another Python implementation, a changed signature) `json` does the same job.

Strict means: no NaN or infinities in either direction, no number too large for a float, no
lone surrogates, nothing after the value.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    JsonObject = dict[str, Any]
    # Reads a value at a place, writes a value, writes a text.
    Codec = tuple[Callable[[str, int], tuple[Any, int]], Callable[[Any], str], Callable[[str], str]]
else:
    JsonObject = dict

_WHITESPACE = " \t\n\r"


class JsonError(ValueError):
    """Text that is not strict JSON; says what was expected and where."""


def _reject_constant(name: str) -> object:
    raise JsonError(f"{name} is not a JSON number")


def _finite_float(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise JsonError("number out of range")
    return value


class _ScannerContext:
    """The attributes that the C scanner reads from its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = staticmethod(_finite_float)
    parse_int = int
    parse_constant = staticmethod(_reject_constant)


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _make_codec() -> Codec:
    try:
        from _json import encode_basestring, make_encoder, make_scanner

        scan = make_scanner(_ScannerContext)  # type: ignore[arg-type]
        encode = make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, False)
        probe = "".join(encode({"a": [1, 1.5, None, "é"]}, 0))
        if scan(probe, 0) == ({"a": [1, 1.5, None, "é"]}, len(probe)):
            return scan, lambda value: "".join(encode(value, 0)), encode_basestring
    except (ImportError, TypeError):
        pass
    return _standard_codec()


def _standard_codec() -> Codec:
    import json

    decoder = json.JSONDecoder(parse_float=_finite_float, parse_constant=_reject_constant)
    encoder = json.JSONEncoder(
        ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
    )
    scan: Callable[[str, int], tuple[Any, int]] = vars(decoder)["scan_once"]
    return scan, encoder.encode, encoder.encode


_scan, _encode, _quote = _make_codec()


def loads(text: str) -> Any:
    """The value of strict JSON text."""
    start = len(text) - len(text.lstrip(_WHITESPACE))
    try:
        value, end = _scan(text, start)
    except JsonError:
        raise
    except (StopIteration, RecursionError, ValueError, SystemError) as error:
        raise JsonError(_explain(text, start, error)) from None
    rest = text[end:].lstrip(_WHITESPACE)
    if rest:
        position = _position(text, len(text) - len(rest))
        raise JsonError(f"extra text after the value at {position}")
    if "\\u" in text:
        _reject_surrogates(value)
    return value


def loads_bytes(data: bytes) -> Any:
    """The value of strict JSON in UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError(f"invalid UTF-8 at byte {error.start}") from None
    return loads(text)


def dumps(value: object) -> str:
    """Compact JSON text; raises JsonError for what JSON cannot say."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise JsonError(f"no JSON form: {error}") from None


def dumps_bytes(value: object) -> bytes:
    """Compact JSON in UTF-8; raises JsonError for what JSON cannot say."""
    try:
        return dumps(value).encode("utf-8")
    except UnicodeEncodeError:
        raise JsonError("no JSON form: lone surrogate in a string") from None


def pretty(value: object) -> str:
    """JSON text indented by two blanks: what `json` writes, in a third of its time."""
    try:
        return _indented(value, "\n")
    except RecursionError as error:
        raise JsonError(f"no JSON form: {error}") from None


def _indented(value: object, start: str) -> str:
    if isinstance(value, str):
        return _quote(value)
    inner = start + "  "
    if isinstance(value, dict) and value:
        items = [f"{_quote(str(key))}: {_indented(item, inner)}" for key, item in value.items()]
        return "{" + inner + f",{inner}".join(items) + start + "}"
    if isinstance(value, (list, tuple)) and value:
        items = [_indented(item, inner) for item in value]
        return "[" + inner + f",{inner}".join(items) + start + "]"
    return dumps(value)


def _reject_surrogates(value: object) -> None:
    try:
        dumps(value).encode("utf-8")
    except UnicodeEncodeError:
        raise JsonError("lone surrogate in a string") from None


def _position(text: str, index: int) -> str:
    line = text.count("\n", 0, index) + 1
    column = index - (text.rfind("\n", 0, index) + 1) + 1
    return f"line {line} column {column}"


def _explain(text: str, start: int, error: Exception) -> str:
    if isinstance(error, SystemError):
        # The C scanner raises json's own error class, and fails when that is not imported yet.
        import json.decoder

        try:
            json.decoder.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError) as cause:
            error = cause
    if isinstance(error, StopIteration):
        return f"expected value at {_position(text, error.value)}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    position = getattr(error, "pos", None)
    if position is None:
        return "invalid number"
    reason = str(getattr(error, "msg", "invalid")).removesuffix(" at")
    reason = reason.replace("Expecting", "expected").replace("Extra data", "extra text")
    return f"{reason[:1].lower()}{reason[1:]} at {_position(text, position)}"
