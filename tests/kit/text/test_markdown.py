"""Markdown blocks: where fenced code is."""

from __future__ import annotations

import pytest

from clew.kit.text.markdown import HEADING, Blocks, lines_outside_code

TEXT = """# One

```python
# no heading

- no item
```
- item
  ~~~
  code
  ~~~
text
"""


def test_code_has_a_span_and_is_no_block():
    blocks = Blocks(TEXT)
    assert [block.words for block in blocks if block.kind == HEADING] == ["One"]
    assert [TEXT[start:end].strip() for start, end in blocks.code] == [
        "```python\n# no heading\n\n- no item\n```",
        "~~~\n  code\n  ~~~",
    ]


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("", []),
        ("a\nb", []),
        (TEXT, [2, 3, 4, 5, 6, 8, 9, 10]),
        ("```\nopen\n# end", [0, 1, 2]),
        ("````\n```\n````\nafter", [0, 1, 2]),
        ("- ```\n  code\nafter", [0, 1]),
        ("<!--\n```\n-->\nafter", []),
    ],
)
def test_lines_outside_code(text, inside):
    found = lines_outside_code(text)
    assert len(found) == len(text.split("\n"))
    assert [number for number, outside in enumerate(found) if not outside] == inside
