"""Notes of a text that nobody has read: what is sure by its heading or its words, and the rest.

Every sentence is somewhere: what cannot be placed is shown as such. A sentence that reads like an
order to the reader's tools is shown as a quotation, wherever it stands.
"""

from __future__ import annotations

import re
from typing import Final

from clew.advisors.documents.model import Facts, Item, same_text
from clew.advisors.extract.measures import AMOUNT, COURTESY, DATE, INSTRUCTION, any_of
from clew.advisors.extract.statements import Statement, inline, statements
from clew.kit.text.tokens import STOP_WORDS

MOST_STATEMENTS = 2_000
LONGEST_TITLE = 80
UNPLACED: Final = "NP"
_FEW_WORDS = 8
_PROSE: Final = frozenset(
    {"BG", "PB", "EX", "RI", "AS"}
)  # a heading of these speaks for sentences too
HEADINGS: Final = {
    "EX": any_of(r"\bout[ -]of[ -]scope\b", r"\bnon-?goals?\b", r"\bexclu(?:sions?|ded)\b", r"\bnot in scope\b", r"\bnicht im umfang\b", r"\babgrenzung\b", r"\bnicht-?ziele?\b", "対象外|範囲外"),
    "SM": any_of(r"\bmetrics?\b", r"\bkpis?\b", r"\bkennzahl", "指標"),
    "BO": any_of(r"\bgoals?\b", r"\bobjectives?\b", r"\baims?\b", r"\bziele?\b", "目標|目的"),
    "ST": any_of(r"\busers?\b", r"\bstakeholders?\b", r"\baudience\b", r"\bpersonas?\b", r"\b(?:be)?nutzer", r"\bbeteiligte\b", r"\bzielgruppen?\b", "利用者|ユーザー|関係者"),
    "CO": any_of(r"\bconstraints?\b", r"\blimits?\b", r"\brahmenbedingung", r"\bvorgaben\b", r"\bbudget\b", "制約"),
    "AS": any_of(r"\bassumptions?\b", r"\bannahmen?\b", "前提|仮定"),
    "RI": any_of(r"\brisks?\b", r"\bconcerns?\b", r"\brisik(?:o|en)\b", "リスク|懸念"),
    "QG": any_of(r"\bnon-?functional\b", r"\bquality\b", r"\bnfrs?\b", r"\bqualität", "非機能|品質"),
    "IN": any_of(r"\bintegrations?\b", r"\bexternal systems?\b", r"\bschnittstellen\b", "連携"),
    "TE": any_of(r"\btech(?:nology|nologies|nical stack)?\b", r"\bstack\b", r"\btechnik\b", "技術"),
    "CP": any_of(r"\bcomponents?\b", r"\bparts\b", r"\bkomponenten\b", "構成"),
    "PB": any_of(r"\bproblems?\b", "課題|問題"),
    "DP": any_of(r"\bdeployment\b", r"\bhosting\b", r"\bbetrieb\b", "運用"),
    "BG": any_of(r"\bbackground\b", r"\boverview\b", r"\bhintergrund\b", "背景|概要"),
    "FE": any_of(r"\bfeatures?\b", r"\bfunctions?\b", r"\brequirements?\b", r"\bscope\b", r"\bmvp\b", r"\broadmap\b", r"\blater\b", r"\bfunktion", r"\bumfang\b", r"\banforderung", r"\bspäter\b", "機能|要件|今後"),
}  # fmt: skip
# Words that say by themselves what a sentence is; a cue stays while most of what it places is right.
_SURE: Final = {
    "EX": any_of(r"\b(?:out of|not in) scope\b", r"\bnon-goal\b", r"^no (?:\w+ ){0,2}\w+[.]?$", r"\bnicht (?:Teil|Bestandteil)\b", "対象外|範囲外"),
    "BO": any_of(r"^(?:our|the) (?:\w+ )?(?:goal|objective|aim)\b.{0,40}\bis\b", r"\bZiel\b.{0,40}\bist\b", "目的は"),
    "AS": any_of(r"^we assume\b", r"\bgehen davon aus\b", "前提として"),
    "RI": any_of(r"\brisk (?:is|that|of)\b", r"\bRisiko\b", "リスク"),
    "PB": any_of(r"^(?:currently|derzeit)\b", r"\b(?:problems? (?:for|is|when)|by hand|von Hand)\b", "手作業|困って"),
    "FE": any_of(r"^(?:allow|let|enable)\b", r"^(?:the |an? )?(?:\w+ )?\w+(?:s|people|staff) can (?!be\b|have\b|also be\b)", r"^\w+ k(?:ann|önnen)\b", "できる|できます"),
}  # fmt: skip
_OUTCOME = any_of(
    r"\b(?:cut|reduce|increase|improve|grow|save|raise|lower|reach|double|halve|shorten|senken|erhöhen|steigern|halbieren)s?\b",
    "削減|短縮|向上|半減",
)  # fmt: skip
_LABEL = re.compile(r"([^\W\d][^.:\uff1a!?。]{1,30})[:\uff1a]\s*(?=\S)")
_FIRST = any_of(r"\b(?:first|initial) (?:release|version)\b", r"\brelease 1\b", r"\bMVP\b", r"\bersten Version\b", "初版|最初のリリース")  # fmt: skip
_LATER = any_of(r"\blater\b(?! than)", r"\beventually\b", r"\bin (?:the )?future\b", r"^future\b", r"\bsecond (?:release|version)\b", r"\bspäter\b", "将来|今後")  # fmt: skip
_FOR = re.compile(
    r"\b(?:[Aa]n?|[Tt]he|[Oo]ur|[Ee]ine?)\s(?:[\w/+-]+\s){0,3}?(?:app|application|system|tool|platform|service|library|website"
    r"|portal|shop|exchange|game|program|software|assistant|\w+(?:system|verwaltung|portal|[Aa]pp))\s(?:for|für)\s"
    r"((?:[\w-]+\s){0,2}?[\w-]+(?:s|en|er|innen|people|staff))\b(?=[.,;]|$|\s(?:to|that|who|and|in|with)\b)"
)
_HEADING = re.compile(r"^\s{0,3}#\s+(\S.*?)\s*#*\s*$", re.MULTILINE)
_ARTICLE = re.compile(r"^(?:an?|the|our|eine?|der|die|das)\s+", re.IGNORECASE)


def notes_of(text: str, kind: str = "vision", line: int = 1, source: str = "text") -> Facts:
    """What a text says, each fact with its line, marked as unread."""
    found = statements(text, MOST_STATEMENTS)
    items: dict[tuple[str, str], Item] = {}
    numbers: dict[str, int] = {}
    for statement in found[:MOST_STATEMENTS]:
        for prefix, words, attributes in _facts_of(statement):
            key = (prefix, same_text(words))
            if key in items:
                continue
            numbers[prefix] = numbers.get(prefix, 0) + 1
            where = {
                **attributes,
                "unread": kind,
                "source": f"{source}:{statement.line + line - 1}",
            }
            items[key] = Item(f"{prefix}-{numbers[prefix]}", _shown(words), where)
    facts = Facts("", tuple(items.values()))
    if len(found) > MOST_STATEMENTS:
        said = f"What stands from line {found[MOST_STATEMENTS].line} on was not looked at"
        facts = facts.adding(UNPLACED, said, unread=kind, source=source)
    return facts


def title_of(description: str) -> str:
    """A name for the project out of its description: its heading, or its first words."""
    heading = _HEADING.search(description)
    if heading and len(heading[1]) <= LONGEST_TITLE and not INSTRUCTION.search(heading[1]):
        return inline(heading[1])
    for one in statements(description, 20):
        words = _ARTICLE.sub("", one.text).split()
        no_name = one.listed or any(cue.search(one.text) for cue in (COURTESY, INSTRUCTION))
        telling = [word for word in words if word.casefold() not in STOP_WORDS]
        if len(telling) > 1 and not no_name and not _LABEL.match(one.text):
            while len(words) > _FEW_WORDS or words[-1].casefold() in STOP_WORDS:
                words.pop()
            short = " ".join(words).rstrip(".,;:。")
            return inline(short[:1].upper() + short[1:LONGEST_TITLE])
    return ""


def heading_kind(heading: str) -> str:
    """The kind of fact that a heading announces, or nothing."""
    return next((prefix for prefix, cue in HEADINGS.items() if cue.search(heading)), "")


def kind_of(statement: Statement) -> str:
    """The kind of fact that a statement surely is: the prefix of its id."""
    text = statement.text
    label = _LABEL.match(text)
    named = heading_kind(label[1]) if label else ""
    if named and label and len(label[1].split()) <= 3:
        return named
    headed = heading_kind(statement.heading)
    if headed and (headed != "BG" if statement.listed else headed in _PROSE):
        return headed
    if _OUTCOME.search(text) and AMOUNT.search(text) and DATE.search(text):
        return "BO"
    return next((prefix for prefix, cue in _SURE.items() if cue.search(text)), UNPLACED)


def _facts_of(statement: Statement) -> list[tuple[str, str, dict[str, str]]]:
    kind, text = kind_of(statement), statement.text
    found = [(kind, _words(text, kind), _attributes(kind, statement))]
    users = _FOR.search(text)
    if users and kind != "ST":
        found.append(("ST", users[1][:1].upper() + users[1][1:], {"role": "primary user"}))
    return found


def _words(text: str, kind: str) -> str:
    label = _LABEL.match(text)
    if kind in {"CP", "IN", "ST"} and label:
        return label[1].strip()
    return text.rstrip(" .。;") if kind in {"FE", "EX", "ST"} else text


def _attributes(kind: str, statement: Statement) -> dict[str, str]:
    _, _, rest = statement.text.partition(":")
    if kind == "FE":
        places = (statement.text, statement.heading)
        if any(map(_LATER.search, places)):
            return {"release": "later"}
        return {"release": "1"} if any(map(_FIRST.search, places)) else {}
    return {
        "AS": {"state": "unconfirmed"},
        "ST": {"role": "primary user", "interest": inline(rest)},
        "CP": {"responsibility": inline(rest)},
        "IN": {"purpose": inline(rest)},
        "TE": {"reason": "named in the text"},
    }.get(kind, {})


def _shown(words: str) -> str:
    return f"`{words.replace('`', chr(39))}`" if INSTRUCTION.search(words) else inline(words)
