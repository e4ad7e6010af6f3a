"""The languages that are parsed: their grammar, the endings of their files, and what defines a name.

A query marks the node of a definition by its kind, the name by `name`, and by `owner` what it
belongs to where that is not around it. `scope` only holds others; `call` is a name that is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_PYTHON = """
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name)) @value)
(class_definition body: (block (expression_statement (assignment left: (identifier) @name)) @value))
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
"""
_JAVASCRIPT = """
(class_declaration name: (_) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (property_identifier) @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @value)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @value))
(assignment_expression left: (member_expression object: (_) @owner property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @function
(call_expression function: (identifier) @call)
(call_expression function: (member_expression property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(function_signature name: (identifier) @name) @function
(internal_module name: (identifier) @name) @scope
"""
)
_GO = """
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (type_identifier) @owner)) name: (field_identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (pointer_type (type_identifier) @owner))) name: (field_identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (pointer_type (generic_type type: (type_identifier) @owner)))) name: (field_identifier) @name) @function
(type_spec name: (type_identifier) @name) @type
(source_file (const_declaration (const_spec name: (identifier) @name) @value))
(source_file (var_declaration (var_spec name: (identifier) @name) @value))
(call_expression function: (identifier) @call)
(call_expression function: (selector_expression field: (field_identifier) @call))
"""
_RUST = """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(union_item name: (type_identifier) @name) @union
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(mod_item name: (identifier) @name body: (_)) @scope
(impl_item type: (type_identifier) @name) @scope
(impl_item type: (generic_type type: (type_identifier) @name)) @scope
(const_item name: (identifier) @name) @value
(static_item name: (identifier) @name) @value
(macro_definition name: (identifier) @name) @function
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (scoped_identifier name: (identifier) @call))
(macro_invocation macro: (identifier) @call)
"""
_C = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))) @function
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @union
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
(preproc_def name: (identifier) @name) @value
(preproc_function_def name: (identifier) @name) @function
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @value)
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
"""
_CPP = (
    _C
    + """
(class_specifier name: (type_identifier) @name body: (_)) @class
(namespace_definition name: (_) @name) @scope
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @function
(function_definition declarator: (function_declarator declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name))) @function
(function_definition declarator: (_ declarator: (function_declarator declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name)))) @function
(call_expression function: (qualified_identifier name: (identifier) @call))
"""
)
_JAVA = """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @record
(annotation_type_declaration name: (identifier) @name) @class
(method_declaration name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @function
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @value
(method_invocation name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
"""
_RUBY = """
(class name: (constant) @name) @class
(class name: (scope_resolution scope: (_) @owner name: (constant) @name)) @class
(module name: (constant) @name) @module
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(assignment left: (constant) @name) @value
(call method: (identifier) @call)
"""


@dataclass(frozen=True)
class Language:
    """One language: how its grammar is loaded, the endings of its files, and its query."""

    name: str
    grammar: Callable[[], object]
    endings: tuple[str, ...]
    query: str


def _python() -> object:
    from tree_sitter_python import language

    return language()


def _rust() -> object:
    from tree_sitter_rust import language

    return language()


def _go() -> object:
    from tree_sitter_go import language

    return language()


def _c() -> object:
    from tree_sitter_c import language

    return language()


def _cpp() -> object:
    from tree_sitter_cpp import language

    return language()


def _java() -> object:
    from tree_sitter_java import language

    return language()


def _javascript() -> object:
    from tree_sitter_javascript import language

    return language()


def _typescript() -> object:
    from tree_sitter_typescript import language_typescript

    return language_typescript()


def _tsx() -> object:
    from tree_sitter_typescript import language_tsx

    return language_tsx()


def _ruby() -> object:
    from tree_sitter_ruby import language

    return language()


LANGUAGES = (
    Language("python", _python, (".py", ".pyi"), _PYTHON),
    Language("rust", _rust, (".rs",), _RUST),
    Language("go", _go, (".go",), _GO),
    Language("c", _c, (".c", ".h"), _C),
    Language("cpp", _cpp, (".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx"), _CPP),
    Language("java", _java, (".java",), _JAVA),
    Language("javascript", _javascript, (".js", ".jsx", ".mjs", ".cjs"), _JAVASCRIPT),
    Language("typescript", _typescript, (".ts", ".mts", ".cts"), _TYPESCRIPT),
    Language("tsx", _tsx, (".tsx",), _TYPESCRIPT),
    Language("ruby", _ruby, (".rb", ".rake"), _RUBY),
)
_BY_ENDING = {ending: language for language in LANGUAGES for ending in language.endings}


def language_of(path: str) -> Language | None:
    """The language of a file by its ending, or None where no grammar is here."""
    name = path.rpartition("/")[2]
    return _BY_ENDING.get(name[name.rfind(".") :].lower()) if "." in name else None
