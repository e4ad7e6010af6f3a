"""Whether a statement says what its quote says: no other number, no other word, no other negation.

Words may be left out, joined anew and inflected. What a pronoun in the quote stands for may be taken
from the two sentences before it, and what an entry of a list begins with from the line above the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from clew.advisors.drafts.source import Source, Span, says, words_of


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_NEGATIONS: Final = _words(
    "no not never without cannot none nor neither dont doesnt didnt isnt arent wasnt werent wont wouldnt",
    "cant couldnt shouldnt mustnt hasnt havent hadnt nicht nie niemals ohne weder kein keine keinen keiner",
    "keinem keines",
)
# What denies without a negation: a text may say it with one.
_AGAINST: Final = _words(
    "against avoid avoids avoiding exclude excluded exempted fail fails failed fehlt fehlen hard impossible",
    "instead lack lacks left lose loses losing lost missing nur only open prevent prevents rather stop unable unlike",
    "verhindert verlieren verliert vermeiden offen",
)
_ONLY: Final = _words("just only merely nur allein")  # what is not only so, is so
_WIDE_NEGATION: Final = re.compile("(?<!おこ)(?<!行)ない|なく|なけれ|ません|ずに|せず|せぬ")
# What has to be done is said with two negations.
_WIDE_DUTY: Final = re.compile("な(?:ければ|くては|いと)(?:なら|いけ)(?:ない|なく|ず|ません)")
# Words that join what the source says, or count it; no actor, object or unit is among them.
_JOINS: Final = _words(
    "also although always another because become becomes both brauchen can done each every everyone get gets",
    "give given goes had hat haben happen have having instead ist je just keep kept let lets like made make makes many",
    "may mehr might more most much must möglich muss need needed needs offer often one ones only other others",
    "people possible provide provided set should show shows sind soll sollen some someone sowie still such",
    "support take taken than thing things too until use used uses using very via want wants way werden while",
    "wird would share number count rate percentage ratio average anteil anzahl zahl 数 率",
    "among between during per within bei bis eigen eigene eigenen eigener own pro wenn",
    "almost already any anybody anyone anything besides beyond currently few fewer further hardly however least less",
    "little nobody nothing now part per rather same several simply since so still then there therefore today together",
    "upon well whole whose yet",
    "ab aber alle allem allen aller alles als also am auch bald beide beim bereits bisher bleibt da dabei dafür dagegen",
    "daher damit danach dann daran darauf darf daraus darin darum davon dazu denen denn deren derzeit dessen doch dort",
    "durch dürfen ebenso einander einfach einige einmal er etwas fast fest ganz gegen gehört gemäß gerade gibt hat",
    "heute hier hinter ihm ihn ihnen immer ins jede jedem jeden jeder jedes jedoch jetzt je mal man mehrere mehreren",
    "mit nach neben nimmt noch nun nur ob obwohl ohnehin schon sehr sein seine seinen seiner seit selbst sich sobald",
    "sodass solche solchen somit sonst sowohl statt teil trotz über um ums und uns unser unter unterhalb vom vor",
    "vorher wann warum was weil weiter weitere weiteren welche welchen welcher wem wenige weniger wer weshalb wie",
    "sie wieder wir wo wobei wodurch womit woran worauf während zudem zugleich zum zwar zwischen",
)
# Verbs that carry a sentence and change nothing of what it says; verbs that make, end or move a thing are none.
_CARRYING: Final = _words(
    "allow appear ask asked become begin bring came come comes concern consist contain depend enable end exist find found",
    "get go going gone happen help hold include involve know known lead leave left let live look mean occur ran remain",
    "hit lies run running said say see seen seem sit stand start stay stood tell tells told think try turn want went work wish",
    "beginnen bekommen bestehen betreffen bleiben erhalten gehen gehören haben laufen läuft legen legt nutzen setzen tun braucht enthalten erlauben ermöglichen finden geben geht gibt",
    "helfen kommen lassen liegen stehen steht wollen wünschen",
)
# What a German participle has within: an-ge-zeigt, ge-ändert.
_PARTICIPLE: Final = re.compile(
    "((?:hinzu|zurück|ab|an|auf|aus|bei|ein|her|hin|mit|nach|um|vor|weg|zu)?)ge(.{3,}(?:t|en))$"
)
_UMLAUTS: Final = str.maketrans("äöü", "aou")
_FOLDED: Final = re.compile("[aou]e(?=[^\\W\\d_])")
_PRONOUNS: Final = _words(
    "it its this these that those they them their he she here es dies diese dieser dieses diesem das sie ihr",
    "ihre ihren hierbei",
)
_WIDE_PRONOUN: Final = re.compile("[これそ]れ|この|その")
_HIRAGANA: Final = re.compile("[\u3040-\u309f]")
_ENDINGS: Final = tuple(
    _words("ations ation ings ing ions ion ies ers ern est ungen ung ed es er en em s e y n t")
)
_WIDE: Final = 0x2E80
_SHORTEST: Final = 3
_FAMILY: Final = 0.6
_DENIED_WORDS: Final = 2
_LEAD_END: Final = 1


def foreign_number(texts: Iterable[str], said: Sequence[str]) -> str:
    """The numbers of texts that do not stand where the quote is, as a reason."""
    words = words_of(" ".join(texts))
    foreign = [word for word in words if any(map(str.isdigit, word)) and word not in said]
    return f"{', '.join(foreign[:3])} is not where the quote is" if foreign else ""


class Foreign(NamedTuple):
    """The words of a text that do not stand where its quote is, and how much of it they are."""

    shown: str
    share: float
    reason: str


def foreign_words(
    text: str, said: Sequence[str], source: Source, spans: Sequence[Span]
) -> Foreign | None:
    """What a text says in words that do not stand where the quote is."""
    words, quoted = words_of(text), source.quoted(spans)
    resolved = _PRONOUNS & set(quoted) - set(words) or _WIDE_PRONOUN.search("".join(quoted))
    near = [*said, *source.headings_over(spans[0])]
    near += source.sentences_before(spans[0], 2) if resolved else ()
    known = {form for word in near for form in _forms(word)}
    telling = [word for word in words if _tells(word)]
    foreign = [word for word in telling if not _is_known(word, known)]
    if not foreign:
        return None
    shown = ", ".join(f"“{word}”" for word in list(_joined(foreign))[:3])
    lines = [source.nearest(_forms(word), spans[0]) for word in foreign]
    if all(lines):
        also = ", ".join(map(str, sorted(set(lines))))
        reason = f"{shown} is not where the quote is; if it rests on line {also} too, add that to `lines`"
        shown = f"{shown} (line {also})"
    else:
        reason = f"{shown} is not where the quote is; use its words, or quote where that stands"
    return Foreign(shown, len(foreign) / len(telling), reason)


def _joined(words: Iterable[str]) -> Iterator[str]:
    """The words, each once, those of one character in a row as one."""
    for wide, run in groupby(dict.fromkeys(words), lambda word: ord(word[0]) > _WIDE):
        found = list(run)
        yield from ["".join(found)] if wide else found


def denial(text: str, source: Source, spans: Sequence[Span], *, excluded: bool = False) -> str:
    """Why a text denies what its quote says, or the other way round; what is excluded may drop it."""
    words, quoted = words_of(text), source.quoted(spans)
    mine, theirs = list(_denied(words, alone=True)), list(_denied(quoted))
    ahead = [*source.before(spans[0]), *source.list_lead(spans[0])[-_LEAD_END:]]
    before = [word for word in ahead if word in _NEGATIONS]
    around = list(_denied(source.sentences_of(spans)))
    if len(mine) > len(around) + len(before) and not _AGAINST & set(quoted) - set(words):
        return f"the text says “{mine[-1][0]}”, the quote does not"
    told_twice = not mine and not (len(theirs) + len(before)) % 2  # nothing ... without
    if excluded or told_twice or len(mine) >= len(theirs) + len(before):
        return ""
    if before:
        return f"the quote leaves out “{before[0]}”; quote the whole sentence"
    told = {form for word in words for form in _forms(word)}
    also = {form for _, forms in mine for form in forms}
    for word, forms in theirs:
        if forms & told and not forms & also:
            return (
                f"the quote says “{word}”, the text does not; say it, or quote only what you mean"
            )
    return ""


def _denied(words: Sequence[str], *, alone: bool = False) -> Iterator[tuple[str, set[str]]]:
    """Each negation with the forms of what it denies: the next telling words, or those before.

    What is `not only` so is no negation, unless it stands alone.
    """
    for at, word in enumerate(words):
        if word in _NEGATIONS and (alone or not _ONLY & set(words[at + 1 : at + 2])):
            after = [one for one in words[at + 1 : at + 8] if _tells(one)][:_DENIED_WORDS]
            first = [one for one in words[max(at - 3, 0) : at] if _tells(one)][-1:]
            near = after if after and word != "nicht" else [*after, *first]
            yield word, {form for one in near for form in _forms(one)}
    wide = _WIDE_DUTY.sub("", "".join(word for word in words if ord(word[0]) > _WIDE))
    for found in _WIDE_NEGATION.finditer(wide):
        before = [one for one in wide[: found.start()] if not _HIRAGANA.match(one)]
        yield found[0], set(before[-_DENIED_WORDS:])


def _tells(word: str) -> bool:
    return says(word) and word not in _JOINS | _NEGATIONS and not _HIRAGANA.match(word)


@lru_cache(maxsize=8192)
def _forms(word: str) -> frozenset[str]:
    """The word, and what is left of it without each usual ending; umlauts in either spelling."""
    plain = _FOLDED.sub(lambda found: found[0][0], word.translate(_UMLAUTS))
    whole = {word, plain, plain.replace("iz", "is"), _PARTICIPLE.sub(r"\1\2", plain)}
    cut = (one[: -len(end)] for one in whole for end in _ENDINGS if one.endswith(end))
    kept = [one for one in cut if len(one) >= _SHORTEST]
    single = (one[:-1] for one in kept if len(one) > _SHORTEST and one[-1] == one[-2])
    return frozenset({*whole, *kept, *single})


@lru_cache(maxsize=1)
def _carrying() -> frozenset[str]:
    return frozenset(form for word in _CARRYING for form in _forms(word))


def _is_known(word: str, known: set[str]) -> bool:
    """Whether the source has the word in some form, or within a compound, or need not have it."""
    forms = _forms(word)
    if forms & known or forms & _carrying():
        return True
    long = [one for one in forms if len(one) > _SHORTEST + 1]
    others = [one for one in known if len(one) > _SHORTEST + 1]
    return any(
        one in other or other in one or _is_family(one, other) for one in long for other in others
    )


def _is_family(one: str, other: str) -> bool:
    """Whether two words begin alike: to convert, the conversion; to connect, the connection."""
    pairs = enumerate(zip(one, other, strict=False))
    shared = next((at for at, (mine, theirs) in pairs if mine != theirs), 0)
    return shared > _SHORTEST + 1 and shared >= _FAMILY * max(len(one), len(other))
