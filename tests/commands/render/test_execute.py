"""What a template becomes: the documented examples, and no surprise for any input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.commands.files.errors import ExecutionFailure
from clew.commands.render.execute import Request, execute
from clew.commands.render.render import fill, names_in, placeholders, render, render_compatibly

APP = """\
working_dir: .agent/climpt
app_prompt:
  base_dir: prompts/test
app_schema:
  base_dir: schema/test
"""


@pytest.fixture
def test_domain(project):
    project.write(".agent/climpt/config/test-app.yml", APP)
    return project


def prompt(project, address, *, compatible=False, **given):
    """The prompt, rendered with the project as working directory."""
    return rendered(project, address, compatible=compatible, **given).prompt


def rendered(project, address, **given):
    request = Request(*address.split("/"))
    request.base = str(project.root)
    for key, value in given.items():
        assert hasattr(request, key)
        setattr(request, key, value)
    return execute(request, project.settings)


BOTH = pytest.mark.parametrize("compatible", [False, True], ids=["ours", "compatible"])


@BOTH
def test_input_is_trimmed_and_not_read_again(test_domain, compatible):
    test_domain.template("test/echo/input", "# Echo\n\n{input_text}", c1="test", title="Echo")
    given = {"text": "  Hello {uv-x}\n", "variables": {"x": "N"}, "compatible": compatible}

    assert prompt(test_domain, "test/echo/input", **given) == "# Echo\n\nHello {uv-x}\n"


@BOTH
def test_without_input_the_placeholder_stays_and_is_reported(test_domain, compatible):
    test_domain.template("test/echo/input", "# Echo\n\n{input_text}", c1="test", title="Echo")
    result = rendered(test_domain, "test/echo/input", text="", compatible=compatible)

    assert result.prompt == "# Echo\n\n{input_text}\n"
    assert result.missing == ["input_text"]
    assert "Nothing was given for {input_text}" in result.warnings


def test_strict_refuses_what_is_otherwise_a_warning(test_domain):
    test_domain.template("test/echo/input", "# Echo\n\n{input_text}", c1="test", title="Echo")
    with pytest.raises(ExecutionFailure) as failure:
        rendered(test_domain, "test/echo/input", text="", strict=True)

    assert "Nothing was given for {input_text}" in failure.value.message


PATHS = (
    "T={uv-target} K={uv-k} IN={input_text_file} OUT={destination_path} S={schema_file} "
    "D={base_prompt_dir} Q={uv-missing} I={input_text}"
)


@pytest.mark.parametrize(("compatible", "out"), [(True, ".agent/climpt/out.md"), (False, "out.md")])
def test_paths_and_variables(test_domain, compatible, out):
    test_domain.template("test/run/specific", PATHS)
    test_domain.write("in/x.md", "")
    root = test_domain.root
    found = prompt(
        test_domain,
        "test/run/specific",
        variables={"target": "tests/a.py", "k": "v=w"},
        file="in/x.md",
        destination="out.md",
        compatible=compatible,
    )

    assert found == (
        f"T=tests/a.py K=v=w IN={root}/in/x.md OUT={root}/{out} "
        "S=schema/test/run/specific/f_specific.json "
        f"D={root}/.agent/climpt/prompts/test/run/specific Q={{uv-missing}} I={{input_text}}\n"
    )


EDITIONS = [
    ("", "", "D\n"),
    ("bug", "", "B\n"),
    ("bug", "deep", "B\n"),
    ("", "deep", "D\n"),
]


@BOTH
@pytest.mark.parametrize(("edition", "adaptation", "expected"), EDITIONS)
def test_editions_that_both_find(project, edition, adaptation, expected, compatible):
    project.template("test/do/it", "D")
    project.template("test/do/it", "B", variant="bug")
    given = {"edition": edition, "adaptation": adaptation, "compatible": compatible}

    assert prompt(project, "test/do/it", **given) == expected


@pytest.mark.parametrize("mode", [{}, {"strict": True}, {"compatible": True}])
def test_an_unknown_edition_is_an_error_with_the_list(project, mode):
    project.template("test/do/it", "D")
    project.template("test/do/it", "B", variant="bug")
    with pytest.raises(ExecutionFailure) as failure:
        rendered(project, "test/do/it", edition="feat", adaptation="deep", **mode)
    directory = project.root / ".agent/climpt/prompts/test/do/it"
    assert failure.value.message == (
        f"Template not found: {directory}/f_feat_deep.md\n"
        f"Attempted paths: {directory}/f_feat_deep.md, {directory}/f_feat.md"
    )
    assert failure.value.hint == "There are: default, bug."


def test_a_missing_adaptation_is_told(project):
    project.template("test/do/it", "D")
    result = rendered(project, "test/do/it", adaptation="deep")
    assert result.prompt == "D\n"
    assert result.warnings == [
        "f_default_deep.md does not exist, so f_default.md was used. There are: default."
    ]


def test_a_missing_file_is_an_error_unless_the_original_is_asked_for(project):
    project.template("test/do/it", "Read {input_text_file}")
    with pytest.raises(ExecutionFailure, match="No such file"):
        rendered(project, "test/do/it", file="gone.md")
    place = project.root / "gone.md"
    assert prompt(project, "test/do/it", file="gone.md", compatible=True) == f"Read {place}\n"


def test_a_prefix_in_the_configuration_leads_the_destination(project):
    app = "working_dir: .agent/climpt\napp_prompt:\n  base_dir: prompts/test\n"
    project.write(".agent/climpt/config/test-app.yml", app)
    user = "options:\n  destination:\n    prefix: output/git\n"
    project.write(".agent/climpt/config/test-user.yml", user)
    project.template("test/do/it", "To {destination_path}")
    out = project.root / "output/git"
    assert prompt(project, "test/do/it", destination="a.md") == f"To {out}/a.md\n"
    assert prompt(project, "test/do/it") == f"To {out}\n"


@pytest.mark.parametrize(
    ("compatible", "expected"),
    [(True, "A see X B X C X D {nope}\n"), (False, "A see {uv-x} B X C X D {nope}\n")],
)
def test_brace_forms(project, compatible, expected):
    project.template("test/do/it", "A {{ input_text }} B ${uv-x} C { uv-x } D {nope}")
    given = {"text": "see {uv-x}", "variables": {"x": "X"}, "compatible": compatible}

    assert prompt(project, "test/do/it", **given) == expected


RULES = "Intro\n\n---\n\nMiddle\n\n---\n\nEnd"


def test_rules_are_no_frontmatter():
    assert render_compatibly(RULES, {}) == "Intro\n\n\nEnd\n"
    assert render(RULES, {}) == RULES + "\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\na: 1\n---\nBody", "Body\n"),
        ("---\r\na: 1\r\n---\r\nBody\r\n", "Body\r\n"),
        ("---\n\nJust prose here\n\n---\n\nEnd", "---\n\nJust prose here\n\n---\n\nEnd\n"),
        ("---\nnever closed: yes\n", "---\nnever closed: yes\n"),
        ("", "\n"),
        ("---", "---\n"),
    ],
)
def test_only_true_frontmatter_is_taken_away(text, expected):
    assert render(text, {}) == expected


def test_a_backslash_keeps_a_placeholder():
    values = {"uv-x": "X", "input_text": "I"}

    assert fill(r"\{uv-x} {uv-x} \${input_text} \{other}", values) == (
        r"{uv-x} X ${input_text} \{other}"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{{uv-x}}}", "{X}"),
        ("{{uv-x}", "{X"),
        ("${{uv-x}}", "$X"),
        ("{uv-x}}", "X}"),
        ("{uv-}", "{uv-}"),
        ("{\nuv-x}", "{\nuv-x}"),
        ("{toString} {constructor} {__class__}", "{toString} {constructor} {__class__}"),
    ],
)
def test_odd_braces(text, expected):
    assert fill(text, {"uv-x": "X"}) == expected


def test_a_command_that_takes_input_gets_it_even_without_a_placeholder(project):
    project.template("meta/make/it", "Body", options={"stdin": True})
    result = rendered(project, "meta/make/it", text="given")

    assert result.prompt == "Body\n\ngiven\n"
    assert result.warnings == ["The template has no {input_text}, so the input was appended"]
    assert prompt(project, "meta/make/it", text="given", compatible=True) == "Body\n"


def test_a_file_fills_a_template_that_asks_for_text(project):
    project.template("meta/make/it", "Do: {input_text}")
    project.write("notes.md", "words\n")

    assert prompt(project, "meta/make/it", file="notes.md") == "Do: words\n"


def test_declared_variables_have_defaults_choices_and_may_be_required(project):
    lines = ["---", "uv:", "  - name: tone", "    default: dry", "    enum: [dry, warm]"]
    lines += ["  - name: who", "    description: For whom", "    required: true", "---", ""]
    project.template("meta/make/it", "\n".join([*lines, "{uv-tone} for {uv-who}"]))

    assert prompt(project, "meta/make/it", variables={"who": "me"}) == "dry for me\n"
    with pytest.raises(ExecutionFailure, match="uv-who is required"):
        prompt(project, "meta/make/it")
    with pytest.raises(ExecutionFailure, match="Not a value of uv-tone"):
        prompt(project, "meta/make/it", variables={"who": "me", "tone": "loud"})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("x", "  ", "EmptyVariableValue: uv-x"),
        ("input_text", "v", "ReservedVariableName: uv-input_text"),
        ("1x", "v", "Invalid user variable format: uv-1x"),
        ("x", "v" * 70_000, "uv-x is too long"),
    ],
)
def test_unusable_variables(project, name, value, message):
    project.template("meta/make/it", "Body {uv-x}")
    with pytest.raises(ExecutionFailure, match=message):
        prompt(project, "meta/make/it", variables={name: value})


def test_shell_characters_are_only_text(project):
    project.template("meta/make/it", "Body {uv-x}")

    assert prompt(project, "meta/make/it", variables={"x": "R&D; a -> b | c"}) == (
        "Body R&D; a -> b | c\n"
    )


def test_an_empty_template_is_a_failure(project):
    project.template("meta/make/it", "", title="Nothing")
    with pytest.raises(ExecutionFailure, match="The template is empty"):
        prompt(project, "meta/make/it")


PIECES = st.sampled_from(
    [
        "{",
        "}",
        "{{",
        "}}",
        "$",
        "\\",
        "input_text",
        "uv-x",
        "uv-",
        " ",
        "\n",
        "---\n",
        "é",
        "{uv-x}",
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=80)
VALUES = st.dictionaries(
    st.sampled_from(["input_text", "uv-x", "destination_path"]), TEXTS, max_size=3
)


@given(TEXTS, VALUES)
def test_no_text_raises_and_every_prompt_ends_its_line(text, values):
    assert render(text, values).endswith("\n")
    assert render_compatibly(text, values).endswith("\n")


@given(TEXTS, TEXTS)
def test_inserted_text_is_never_read_again(template, value):
    marked = "\x00value\x00"
    once = fill(template, {"input_text": marked, "uv-x": marked})

    assert fill(template, {"input_text": value, "uv-x": value}) == once.replace(marked, value)


@given(TEXTS)
def test_placeholders_are_in_order_apart_and_known(text):
    end = 0
    for start, stop, name in placeholders(text):
        assert end <= start < stop
        assert name in text[start:stop]
        end = stop
    assert fill(text, {}).replace("\\", "") == text.replace("\\", "")
    assert set(names_in(text)) <= {name for _, _, name in placeholders(text)}
