"""What kind of file a path names: program, test, prose, or written by a program."""

from __future__ import annotations

import re

_TEST = re.compile(
    r"(^|[/_.-])(tests?|specs?|testing|fixtures?|testdata|__tests__)([/_.-]|$)", re.IGNORECASE
)
# A class of that name is no test: tests are called after what they test.
_NO_TEST = re.compile(r"(^|/)Test\.(java|kt|cs|scala)$")
_PROSE = re.compile(
    r"\.(md|mdx|rst|txt|adoc|org|tex|pod|[1-9])$|(^|/)(docs?|man)/"
    r"|(^|/)(changelog|changes|news|history|readme|authors|thanks|release[-_]?notes)[^/]*$",
    re.IGNORECASE,
)
_GENERATED = re.compile(
    r"(^|/)(package-lock\.json|yarn\.lock|pnpm-lock\.yaml|[^/]*\.lock|go\.sum|[^/]*\.min\.(js|css)"
    r"|[^/]*\.(snap|po|pot|map|svg))$",
    re.IGNORECASE,
)


def path_kind(path: str) -> str:
    """`code`, `test`, `prose` or `generated`."""
    if _GENERATED.search(path):
        return "generated"
    if _TEST.search(_NO_TEST.sub("", path)):
        return "test"
    return "prose" if _PROSE.search(path) else "code"
