"""Patterns of measures in English, German and Japanese: dates, amounts, vague words, orders."""

from __future__ import annotations

import re
from typing import Final


def any_of(*patterns: str) -> re.Pattern[str]:
    """A pattern that finds any of these, whatever their case."""
    return re.compile("|".join(f"(?:{one})" for one in patterns), re.IGNORECASE)


# Text that speaks to whoever reads it with a tool, instead of about the project.
INSTRUCTION: Final = any_of(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules?|everything above)\b",
    r"\byou are (?:now|an? (?:ai|assistant|language model))\b", r"\bas an? (?:ai|language model)\b",
    r"<\s*/?\s*(?:system|assistant|instructions?|tool_call|script|iframe|img|svg)\b",
    r"\brm -rf\b", r"\bcurl\b.{0,80}\|\s*(?:ba)?sh\b", r"\bjavascript:", r"\[INST\]|<\|im_start\|>",
    r"\b(?:reveal|print|exfiltrate)\b.{0,30}\b(?:your secrets?|api keys?|system prompt|the key)\b",
    r"ignoriere\b.{0,40}\b(?:anweisung|regeln)", "(?:これまで|以前|前)の指示を(?:無視|忘れ)",
)  # fmt: skip
# What people say to each other around what they mean.
COURTESY: Final = any_of(
    r"^\W*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|thanks|thank you|many thanks|cheers|regards|"
    r"(?:best|kind|warm) (?:regards|wishes)|best|yours|sincerely|hallo|liebe[rs]?|guten (?:tag|morgen)|danke|vielen dank|"
    r"(?:viele|liebe|beste|mit freundlichen) grüße\w*)\b[^.!?]{0,40}[.,!]?\s*$",
    "^(?:お世話になっ|よろしくお願い|お疲れ様)",
)
DATE: Final = any_of(
    r"\b\d{4}-\d{2}(?:-\d{2})?\b", r"\b\d{1,2}\.\d{1,2}\.\d{4}\b", r"\bQ[1-4][ /]?\d{4}\b",
    r"\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)(?: \d{1,2},)? \d{4}\b",
    r"\b(?:end of|by|in|until|bis|Ende|before) (?:the end of )?(?:19|20)\d{2}\b(?!-\d)",
    r"\b(?:within|in|after|innerhalb von|in the next) (?:\d+|one|two|three|six|nine|twelve|a|an|drei|sechs|zwölf) (?:days?|weeks?|months?|quarters?|years?|Tagen|Wochen|Monaten|Jahren?)\b",
    r"\d{4}年(?:\d{1,2}月)?(?:\d{1,2}日)?(?:末)?", r"\d+(?:か月|ヶ月|週間|年)以内",
)  # fmt: skip
AMOUNT: Final = any_of(
    r"[$€£¥]\s?\d[\d.,]{0,30}\s*(?:k|m|million|thousand)?\b", r"\b\d[\d.,]{0,30}\s?(?:EUR|USD|GBP|CHF|JPY)\b",
    r"\d[\d.,]{0,30}\s?万円", r"\b\d[\d.,]{0,30}\s?%", r"\d[\d.,]{0,30}\s?[€円人件名分割倍秒]",
    r"\b\d[\d.,]{0,30}\s?(?:ms|[kKMGT]i?B|MHz|GHz|px|rps|fps)\b",
    r"\b\d[\d.,]{0,30}\s+(?:(?:active|daily|monthly|weekly|new|registered|paying|concurrent)\s+)*[^\W\d_]{3,}\b",
    r"\b(?:twice|half|double|halve)\b", r"\bdie Hälfte\b", "半分", "半減", "倍",
)  # fmt: skip
NUMBER: Final = re.compile(r"\d[\d.,]{0,30}\d|\d")
VAGUE: Final = any_of(
    r"\bfast\b", r"\beas(?:y|ily)\b", r"\brobust\b", r"\bscalable\b", r"\bseamless(?:ly)?\b",
    r"\befficient(?:ly)?\b", r"\buser-?friendly\b", r"\bflexible\b", r"\bappropriate\b", r"\bseveral\b",
    r"\betc\.?(?=\W|$)", r"\band/or\b", r"\bminimi[sz]e\b", r"\boptimi[sz]e\b", r"\bintuitive\b",
    r"\bmodern\b", r"\bstate[- ]of[- ]the[- ]art\b", r"\bschnell\b", r"\beinfach\b",
    r"\bbenutzerfreundlich\b", "使いやす", "高速", "柔軟",
)  # fmt: skip
NEGATION: Final = any_of(
    r"\b(?:no|not|never|without|kein\w*|nicht|ohne)\b", r"n['\u2019]t\b", "ない|ません|なし"
)
_UNIT = re.compile(r"[\d.,\s]+")
_SAME_UNIT: Final = {"€": "eur", "euro": "eur", "$": "usd", "dollar": "usd", "£": "gbp", "percent": "%", "prozent": "%"}  # fmt: skip


def amounts_in(text: str) -> dict[str, set[str]]:
    """The numbers of a text by their unit; dates are none."""
    found: dict[str, set[str]] = {}
    for amount in AMOUNT.findall(DATE.sub(" ", text)):
        unit = _UNIT.sub(" ", amount).strip().casefold().split(" ")[-1].rstrip("s")
        numbers = (number.replace(",", "") for number in NUMBER.findall(amount))
        found.setdefault(_SAME_UNIT.get(unit, unit), set()).update(numbers)
    return found


def is_measured(text: str) -> bool:
    """Whether a text has an amount or a date."""
    return bool(AMOUNT.search(text) or DATE.search(text))
