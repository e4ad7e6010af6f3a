"""Markdown blocks: where fenced code is."""

from __future__ import annotations

import pytest

from clew.kit.text.markdown import HEADING, Blocks, code_lines

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


def test_code_is_no_block():
    assert [block.words for block in Blocks(TEXT) if block.kind == HEADING] == ["One"]


@pytest.mark.parametrize(
    ("text", "inside", "left_open"),
    [
        ("", [], ("", 0)),
        ("a\nb", [], ("", 0)),
        (TEXT, [2, 3, 4, 5, 6, 8, 9, 10], ("", 8)),
        ("a\n```\nopen\n# end", [1, 2, 3], ("```", 1)),
        ("````\n```\n````\nafter", [0, 1, 2], ("", 0)),
        ("~~~ x\n```\n~~~ y\n", [0, 1, 2, 3], ("~~~", 0)),
    ],
)
def test_lines_outside_code(text, inside, left_open):
    found = code_lines(text)
    assert len(found.outside) == len(text.split("\n"))
    assert [number for number, outside in enumerate(found.outside) if not outside] == inside
    assert (found.open_mark, found.opened) == left_open
