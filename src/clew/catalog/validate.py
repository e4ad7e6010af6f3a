"""The one validator of tool arguments, over the same schemas that clients see."""

from __future__ import annotations

from clew.kit.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.kit.jsontext import JsonObject


class ArgumentError(Invalid):
    """An argument is missing or wrong; the message names it."""

    code = "argument"


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_PLAIN: dict[type, tuple[str, ...]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
}
_LARGEST = 2**63 - 1  # what every reader of a JSON integer, and SQLite, can hold
_LIMITS = {"enum", "minimum", "maximum", "minLength", "maxLength"}
_MOST_ARGUMENTS = 100
_ARTICLES = {"integer": "an integer", "array": "an array", "object": "an object", "null": "null"}


def check_arguments(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """The arguments, ready for the handler.

    An optional argument that is null counts as absent, because many hosts send it so. A name
    that the schema does not know is passed by, unless it looks like a misspelt one: then a
    silent default would be the wrong answer.
    """
    properties: JsonObject = schema.get("properties", {})
    required = schema.get("required", ())
    checked = {
        name: value for name, value in arguments.items() if value is not None or name in required
    }
    for name in required:
        if name not in checked or checked[name] is None:
            raise ArgumentError(f"Missing required parameter: {name}")
    for name, value in checked.items():
        if name in properties:
            checked[name] = _checked(properties[name], value, name)
        else:
            _reject_misspelling(name, properties, checked)
    return checked


def _checked(schema: JsonObject, value: Any, path: str) -> Any:
    if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        raise ArgumentError(f"Invalid parameter: {path} is out of range")
    if schema.get("type") in _PLAIN.get(type(value), ()) and not _LIMITS & schema.keys():
        return value
    value = _typed(schema, value, path)
    if "enum" in schema and value not in schema["enum"]:
        options = ", ".join(str(option) for option in schema["enum"])
        raise ArgumentError(f"Invalid parameter: {path} must be one of {options}")
    _check_bounds(schema, value, path)
    if isinstance(value, list) and "items" in schema:
        return [_checked(schema["items"], item, f"{path}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, dict) and "properties" in schema:
        return _checked_object(schema, value, path)
    return value


def _typed(schema: JsonObject, value: Any, path: str) -> Any:
    declared = schema.get("type")
    if declared is None:
        return value
    names = [declared] if isinstance(declared, str) else declared
    if "integer" in names and isinstance(value, float) and value.is_integer():
        return int(value)
    if any(_is_a(name, value) for name in names):
        return value
    wanted = " or ".join(_ARTICLES.get(name, f"a {name}") for name in names)
    raise ArgumentError(f"Invalid parameter: {path} must be {wanted}, got {type_name(value)}")


def _is_a(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name])


def type_name(value: object) -> str:
    """JSON's word for the type of a value."""
    if isinstance(value, bool):
        return "boolean"
    return next(name for name, types in _TYPES.items() if isinstance(value, types))


def _check_bounds(schema: JsonObject, value: Any, path: str) -> None:
    size = len(value) if isinstance(value, (str, list)) else value
    for low, high, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ):
        if low in schema and size < schema[low]:
            raise ArgumentError(f"Invalid parameter: {path} must be at least {schema[low]}{unit}")
        if high in schema and size > schema[high]:
            raise ArgumentError(f"Invalid parameter: {path} must be at most {schema[high]}{unit}")


def _checked_object(schema: JsonObject, value: JsonObject, path: str) -> JsonObject:
    for name in schema.get("required", ()):
        if name not in value:
            raise ArgumentError(f"Missing required parameter: {path}.{name}")
    properties = schema["properties"]
    return {
        name: _checked(properties[name], item, f"{path}.{name}") if name in properties else item
        for name, item in value.items()
    }


def _reject_misspelling(name: str, properties: JsonObject, given: JsonObject) -> None:
    from difflib import get_close_matches

    if len(given) > _MOST_ARGUMENTS:
        return  # nobody types that many; comparing them all would take long
    absent = [known for known in properties if known not in given]
    close = get_close_matches(name, absent, n=1, cutoff=0.8)
    if close:
        raise ArgumentError(f"Unknown parameter: {name}. Did you mean {close[0]}?")
