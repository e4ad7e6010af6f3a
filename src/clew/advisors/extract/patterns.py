"""Words that tell what a sentence is about, in English, German and Japanese."""

from __future__ import annotations

import re
from typing import Final


def _any(*patterns: str, cased: bool = False) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in patterns), 0 if cased else re.IGNORECASE)


HEADINGS: Final = {
    "EX": _any(
        r"\bout[ -]of[ -]scope\b", r"\bnon-?goals?\b", r"\bexclusions?\b", r"\bexcluded\b",
        r"\bnot in scope\b", r"\bnicht im umfang\b", r"\babgrenzung\b", r"\bnicht-?ziele?\b",
        "対象外", "範囲外",
    ),
    "BO": _any(r"\bgoals?\b", r"\bobjectives?\b", r"\baims?\b", r"\bziele?\b", "目標", "目的"),
    "SM": _any(r"\bmetrics?\b", r"\bsuccess\b", r"\bkpis?\b", r"\bkennzahl", "指標", "成功"),
    "ST": _any(
        r"\busers?\b", r"\bstakeholders?\b", r"\baudience\b", r"\bpersonas?\b", r"\bactors?\b",
        r"\bnutzer", r"\bbenutzer", r"\bbeteiligte\b", r"\bzielgruppen?\b", "利用者", "ユーザー",
        "関係者",
    ),
    "CO": _any(
        r"\bconstraints?\b", r"\blimits?\b", r"\brahmenbedingung", r"\bvorgaben\b", r"\bbudget\b",
        "制約",
    ),
    "AS": _any(r"\bassumptions?\b", r"\bdependenc(?:y|ies)\b", r"\bannahmen?\b", "前提", "仮定"),
    "RI": _any(r"\brisks?\b", r"\bconcerns?\b", r"\brisik(?:o|en)\b", "リスク", "懸念"),
    "QG": _any(
        r"\bnon-?functional\b", r"\bquality\b", r"\bnfrs?\b", r"\bqualität", "非機能", "品質"
    ),
    "IN": _any(r"\bintegrations?\b", r"\bexternal systems?\b", r"\bschnittstellen\b", "連携"),
    "TE": _any(r"\btech(?:nology|nologies|nical stack)?\b", r"\bstack\b", r"\btechnik\b", "技術"),
    "CP": _any(r"\bcomponents?\b", r"\bparts\b", r"\bkomponenten\b", "構成"),
    "PB": _any(r"\bproblems?\b", r"\bopportunit", r"\bmotivation\b", r"\bwhy\b", "課題", "問題"),
    "DP": _any(r"\bdeployment\b", r"\bhosting\b", r"\bbetrieb\b", "運用", "導入"),
    "BG": _any(r"\bbackground\b", r"\boverview\b", r"\babout\b", r"\bhintergrund\b", "背景", "概要"),
    "FE": _any(
        r"\bfeatures?\b", r"\bfunctions?\b", r"\brequirements?\b", r"\bscope\b", r"\bmvp\b",
        r"\brelease\b", r"\broadmap\b", r"\blater\b", r"\bfuture\b", r"\bfunktion", r"\bumfang\b",
        r"\banforderung", r"\bspäter\b", "機能", "要件", "今後",
    ),
}  # fmt: skip

INSTRUCTION: Final = _any(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules?|above|previous|everything)\b",
    r"\bsystem prompt\b", r"\byou are (?:now|an? (?:ai|assistant|language model))\b",
    r"<\s*/?\s*(?:system|assistant|instructions?|tool_call|script|iframe|img|svg)\b",
    r"\b(?:as|dear) an? (?:ai|language model|assistant)\b",
    r"\b(?:assistant|agent|model|claude|chatgpt|copilot)\b\s*[,:]\s*(?:please\s+)?\w+",
    r"\b(?:run|execute|eval)\b.{0,30}(?:\brm -rf\b|\bcurl\b|\bwget\b|\bsudo\b|\bpowershell\b)",
    r"\brm -rf\b", r"\bcurl\b.{0,80}\|\s*(?:ba)?sh\b", r"\bjavascript:", r"\[INST\]|<\|im_start\|>",
    r"\b(?:reveal|print|send|exfiltrate)\b.{0,30}\b(?:secrets?|passwords?|api keys?|environment)\b",
    r"ignoriere\b.{0,40}\b(?:anweisung|regeln)", "(?:これまで|以前|前)の指示を(?:無視|忘れ)",
)  # fmt: skip

_WE = r"\b(?:we|it|this|they|(?:the|this) \w+(?: \w+)?)"
_DEED = r"(?:include|support|cover|build|handle|offer|provide|do|replace|sell|store|need|try|manage|process|add|contain|deal|want)"
EXCLUSION: Final = _any(
    r"\bout[ -]of[ -]scope\b", r"\bnot (?:in|part of) (?:the )?(?:scope|first|initial|project|product)\b",
    rf"{_WE} (?:will not|won['\u2019]t|shall not|(?:is|are) not going to)\b",
    rf"(?:{_WE}|\w+) (?:do(?:es)? not|do(?:es)?n['\u2019]t|should not|need not) {_DEED}\b",
    r"\bno (?:support|need|plans?) (?:for|to)\b", r"^no(?:t| more)? (?!later|more than|fewer)\w+",
    r"\bexclud(?:e|es|ed|ing)\b", r"\bnot (?:be )?(?:included?|supported?|needed|required|planned|covered)\b",
    r"\bnon-goal\b", r"\bnicht (?:Teil|Bestandteil|enthalten|vorgesehen|geplant|unterstützt)\b",
    r"\b(?:gibt es|brauchen wir|bauen wir|ist) kein", r"^Keine?\b", r"\bausgeschlossen\b",
    "対象外", "範囲外", "含(?:まない|みません|めない|めません)", "対応し(?:ない|ません)",
    "行(?:わない|いません)", "(?:作|つく)ら(?:ない)", "不要",
)  # fmt: skip
MUST_CAPABILITY: Final = _any(
    r"\bmust (?:also )?(?:be able to|let|allow|support|provide|offer|send|show|display|export|import|track|create|generate|notify|remind|print|record|store)\b",
)
# What is to be done for somebody or shown to them; a limit beside it makes it a constraint again.
MUST_BE_DONE: Final = _any(
    r"\bmust (?:also |always )?be (?:shown|displayed|listed|exported|imported|notified|reminded|informed|told|asked|greeted|offered|printed|sent)\b",
    r"\bm(?:uss|üssen) .{1,60}\b(?:angezeigt|gezeigt|exportiert|importiert|benachrichtigt|erinnert|informiert|gefragt|begrüßt|angeboten|gedruckt|verschickt|gesendet) werden\b",
    "(?:通知|表示|案内|送信|挨拶|印刷|出力)(?:し|され)なければな",
)  # fmt: skip
LIMIT: Final = _any(
    r"\b(?:within|under|below|less than|faster than|at (?:most|least)|no more than|up to)\s+\d",
    r"\b(?:innerhalb(?: von)?|binnen|unter|weniger als|höchstens|mindestens)\s+\d",
    r"\d[^。、]{0,8}(?:以内|以下|以上|未満)",
)  # fmt: skip
OBLIGATION: Final = _any(
    r"\bmust\b", r"\bha(?:s|ve) to\b", r"\b(?:is|are) required to\b", r"\bmay not\b", r"\bcannot\b",
    r"\bshall\b", r"\bcompl(?:y|ies|iant|iance)\b", r"\bbudget\b", r"\bdeadline\b", r"\bmandatory\b",
    r"\bno (?:more|later) than\b", r"\bat most\b", r"\bmust never\b", r"\bneeds? to be\b",
    r"\bteam of \w+\b", r"\bwritten in\b", r"\buse only\b|\bonly use\b", r"\bwithout (?:an? )?internet\b",
    r"\bmuss\b", r"\bmüssen\b", r"\bd(?:arf|ürfen)\b", r"\bFrist\b", r"\bhöchstens\b", r"\bspätestens\b",
    r"\bDSGVO\b", r"\bGDPR\b", r"\bHIPAA\b", r"\bPCI(?:[ -]DSS)?\b",
    "なければな", "必須", "必要があ", "してはな", "予算", "期限", "以内", "準拠", "法令",
)  # fmt: skip
CONSTRAINT: Final = _any(OBLIGATION.pattern, "までに")
GOAL: Final = _any(
    r"\b(?:our|the|main|one|first|second|key|business|primary)? ?(?:goals?|objectives?|aims?)\b(?! ?line)",
    r"\bsuccess means\b", r"\bZiel(?:e|en)?\b", "目標", "目的は", "目指",
)  # fmt: skip
OUTCOME: Final = _any(
    r"\b(?:reduc|increas|decreas|improv|achiev|doubl|halv|boost|shorten)\w*\b",
    r"\b(?:cut|cuts|grow|grows|save|saves|raise|raises|lower|lowers|reach|reaches|earn|earns)\b",
    r"\b(?:senken|erhöhen|steigern|verringern|reduzieren|verkürzen|halbieren|erreichen|sparen)\b",
    "削減", "短縮", "向上", "増や", "減ら", "達成", "半減",
)  # fmt: skip
METRIC: Final = _any(
    r"\bmeasured (?:by|as|with|in)\b", r"\bKPIs?\b", r"\bmetrics?\b", r"\bwe (?:will )?measure\b",
    r"\bsuccess criteri", r"\bgemessen\b", r"\bKennzahl", "指標", "測定", "計測",
)  # fmt: skip
RISK: Final = _any(
    r"\brisks?\b", r"\bdangers?\b", r"\bworr(?:y|ied|ies)\b", r"\bconcern(?:ed|s)?\b", r"\bafraid\b",
    r"\b(?:might|may|could) (?:not|fail|break|be too|lose|refuse|leave|reject|resist|be late|change)\b",
    r"\bRisik(?:o|en)\b", r"\bGefahr\b", r"\bbefürcht", r"\bkönnten? (?:nicht|scheitern|ausfallen)\b",
    "リスク", "懸念", "恐れ", "おそれ", "危険",
)  # fmt: skip
ASSUMPTION: Final = _any(
    r"\bassum(?:e|es|ed|ing|ptions?)\b", r"\bpresum(?:e|ably)\b", r"\bwe (?:expect|believe|think)\b",
    r"\bprobably\b", r"\bAnnahme\b", r"\bvermutlich\b", r"\bgehen davon aus\b", r"\bvoraussichtlich\b",
    "前提", "仮定", "想定",
)  # fmt: skip
PROBLEM: Final = _any(
    r"\bproblems?\b", r"\bcurrently\b", r"\btoday\b", r"\bnowadays\b", r"\bat the moment\b",
    r"\bstruggl\w*", r"\bpain(?:ful|s)?\b", r"\btoo (?:slow|long|many|much|expensive|often)\b",
    r"\bwast(?:es|ed|ing)\b", r"\bwaste (?:\w+ ){0,2}(?:\d|time|hours|minutes|money)", r"\bby hand\b", r"\bmanual(?:ly)?\b", r"\berror-prone\b",
    r"\bfrustrat\w+", r"\bcomplain\w*", r"\blos(?:e|es|ing|t)\b", r"\bderzeit\b", r"\bheute\b",
    r"\baktuell\b", r"\bzurzeit\b", r"\bvon Hand\b", r"\bmanuell\b", r"\bzu (?:langsam|lange|teuer)\b",
    r"\bumständlich\b", r"\bverlieren\b", "現在", "問題", "課題", "手作業", "遅い", "困って",
    "時間がかか", "不便",
)  # fmt: skip
FEATURE: Final = _any(
    r"\bcan\b", r"\bshould\b", r"\bwill\b", r"\blets?\b", r"\ballows?\b", r"\benables?\b", r"\bable to\b",
    r"\bsupports?\b", r"\bprovides?\b", r"\boffers?\b", r"\bsends?\b", r"(?<!-)\bshows?\b(?! up)", r"\bdisplays?\b",
    r"\bexports?\b", r"\bimports?\b", r"\btracks?\b", r"\bgenerates?\b", r"\bnotif(?:y|ies)\b",
    r"\breminds?\b", r"\bfeatures?\b", r"\bintegrat\w+\b", r"\bwants? to\b", r"\bsyncs? with\b",
    r"\bk(?:ann|önnen)\b", r"\bsoll(?:en)?\b", r"\bermöglicht\b", r"\bunterstützt\b", r"\bbietet\b",
    r"\bzeigt\b", r"\b(?:ver)?sende[tn]\b", r"\bverschickt\b", r"\berstellt\b", r"\bexportiert\b",
    r"\berinnert\b", "できる", "できます", "でき、", "機能", "表示", "通知", "登録", "検索", "送信",
)  # fmt: skip
CAPABLE: Final = _any(r"\b(?:can|could|may|lets?|allows?)\b", r"\bk(?:ann|önnen)\b", "でき")
# How people get by without the product.
WITHOUT_IT: Final = _any(
    r"\bpaper\b", r"\bby (?:phone|fax)\b", r"\bspreadsheets?\b", r"\bExcel\b", r"\bin person\b",
    r"\bPapier\b", r"\btelefonisch\b", r"\bper Telefon\b", "電話", "紙",
)  # fmt: skip
DEPLOYMENT: Final = _any(
    r"\bdeploy\w*", r"\bhost(?:ed|ing)\b", r"\bon[- ]premises?\b", r"\bin the cloud\b", r"\bruns? on\b",
    r"\bapp stores?\b", r"\broll(?:ed)?[- ]?out\b", r"\bbetrieben\b", r"\bgehostet\b",
    r"\bRechenzentrum\b", r"\bläuft auf\b", "クラウド", "オンプレミス", "サーバー上", "導入",
)  # fmt: skip

FIRST_RELEASE: Final = _any(
    r"\b(?:first|initial) (?:release|version|phase)\b", r"\brelease 1\b", r"\bv1(?:\.0)?\b",
    r"\bversion 1\b", r"\bMVP\b", r"\bphase (?:1|one)\b", r"\bersten? (?:Version|Ausbaustufe|Release)\b",
    "初版", "最初のリリース", "フェーズ1", "第1期",
)  # fmt: skip
LATER_RELEASE: Final = _any(
    r"\blater\b(?! than)", r"\beventually\b", r"\bin (?:the )?future\b", r"^future\b",
    r"\b(?:second|next) (?:release|version|phase)\b", r"\brelease [2-9]\b", r"\bv[2-9]\b",
    r"\bphase (?:2|two|3|three)\b", r"\bsomeday\b", r"\bnice[- ]to[- ]have\b", r"\bspäter\b",
    r"\bzukünftig\b", r"\bzweiten? (?:Version|Ausbaustufe|Release)\b", "将来", "今後", "フェーズ2", "第2期",
)  # fmt: skip

QUALITIES: Final = {
    "performance": _any(
        r"\b\d+(?:[.,]\d+)?\s*(?:ms|milliseconds?|seconds?|s|Sekunden?)\b", r"\blatency\b",
        r"\b(?:fast|quick|quickly|responsive|schnell)\b", r"\d+\s*(?:ミリ)?秒", "高速",
    ),
    "availability": _any(
        r"\b99(?:[.,]\d+)?\s*%", r"\buptime\b", r"\bavailab(?:le|ility) (?:of|at all|24)",
        r"\b24/7\b", r"\bVerfügbarkeit\b", "可用性", "24時間",
    ),
    "capacity": _any(
        r"\b\d[\d.,]{0,30}\s*k?\s*(?:(?:concurrent|simultaneous|daily|active|gleichzeitige)\s+)?(?:users|requests|orders|customers|transactions|devices|visitors|bookings|members|Nutzer|Kunden|Mitglieder)\b",
        r"\bscal(?:e|es|able|ability)\b", r"\d[\d,]*\s*(?:人|件|名)",
    ),
    "security": _any(
        r"\bsecur(?:e|ity|ely)\b", r"\bencrypt\w*", r"\bauthenticat\w*", r"\bpasswords?\b", r"\b2FA\b",
        r"\bSSO\b", r"\bverschlüssel\w*", r"\bsicher(?:heit)?\b", "暗号化", "認証", "セキュリティ",
    ),
    "privacy": _any(
        r"\bGDPR\b", r"\bDSGVO\b", r"\bHIPAA\b", r"\bprivacy\b", r"\bpersonal data\b",
        r"\bDatenschutz\b", "個人情報", "プライバシー",
    ),
    "accessibility": _any(r"\bWCAG\b", r"\baccessib\w+", r"\bbarrierefrei", "アクセシビリティ"),
    "offline use": _any(
        r"\boffline\b", r"\bwithout (?:an? |the )?(?:internet|network|connection)\b",
        r"\bohne (?:Internet|Netz)", "オフライン",
    ),
    "reliability": _any(
        r"\b(?:must not|never) lose\b", r"\bdata loss\b", r"\bbackups?\b", r"\breliab\w+",
        r"\brobust\b", r"\bDatenverlust\b", r"\bDatensicherung\b", "バックアップ",
    ),
    "usability": _any(
        r"\buser-?friendly\b", r"\beasy to (?:use|learn)\b", r"\bintuitive\b", r"\beinfach zu bedienen\b",
        "使いやす", "簡単",
    ),
}  # fmt: skip

DATE: Final = _any(
    r"\b\d{4}-\d{2}(?:-\d{2})?\b", r"\b\d{1,2}\.\d{1,2}\.\d{4}\b", r"\bQ[1-4][ /]?\d{4}\b",
    r"\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)(?: \d{1,2},)? \d{4}\b",
    r"\b(?:end of|by|in|until|bis|Ende|before) (?:the end of )?(?:19|20)\d{2}\b(?!-\d)",
    r"\b(?:within|in|after|innerhalb von|in the next) (?:\d+|one|two|three|six|nine|twelve|a|an|drei|sechs|zwölf) (?:days?|weeks?|months?|quarters?|years?|Tagen|Wochen|Monaten|Jahren?)\b",
    r"\d{4}年(?:\d{1,2}月)?(?:\d{1,2}日)?(?:末)?", r"\d+(?:か月|ヶ月|週間|年)以内",
)  # fmt: skip
AMOUNT: Final = _any(
    r"[$€£¥]\s?\d[\d.,]{0,30}\s*(?:k|m|million|thousand)?\b", r"\b\d[\d.,]{0,30}\s?(?:EUR|USD|GBP|CHF|JPY)\b", r"\d[\d.,]{0,30}\s?万円", r"\b\d[\d.,]{0,30}\s?%", r"\d[\d.,]{0,30}\s?[€円人件名分割倍]",
    r"\b\d[\d.,]{0,30}\s+(?:(?:active|daily|monthly|weekly|new|registered|paying|concurrent)\s+)*(?:percent|prozent|euros?|dollars?|ms|milliseconds?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|users?|customers?|orders?|bookings?|requests?|people|members?|restaurants?|shops?|minuten|stunden|tage|wochen|monate|nutzer|kunden|mitglieder)\b",
    r"\b(?:twice|half|double|halve)\b", r"\bdie Hälfte\b", "半分", "半減", "倍",
)  # fmt: skip
CHANGE: Final = _any(
    r"\bfrom \D{0,20}\d[^;]{0,30}? to \D{0,12}\d", r"\bvon \D{0,20}\d[^;]{0,30}? auf \D{0,12}\d",
    r"\d[^。、]{0,8}から[^。、]{0,6}?\d",
)  # fmt: skip
MOVING: Final = _any(
    r"\b(?:go|drop|fall|rise|shrink|sink|climb|move)(?:e?s)?\b", r"\bcomes? (?:down|up)\b",
    r"\b(?:sink|steig|geh)(?:t|en)\b", r"\bf[aä]ll(?:t|en)\b", "[にへ](?:な|下|上|減|増)",
)  # fmt: skip
MOVED: Final = _any(
    r"\b(?:went|rose|fell|dropped|grew|climbed|sank|was|were|ha[sd]|have)\b",
    r"\b(?:stieg|fiel|sank|ging|wurde|war|hat)(?:en)?\b", "(?:した|ました|った)[。]?$",
)  # fmt: skip
DEADLINE: Final = _any(
    rf"\bby (?:the )?(?:(?:end|start|beginning|middle) of )?(?:the )?(?:{DATE.pattern}|20\d\d\b)",
    rf"\bbis (?:zum |zur |Ende |Anfang |Mitte )*(?:{DATE.pattern})", rf"(?:{DATE.pattern})までに",
)  # fmt: skip
COUNT: Final = _any(
    r"\d\s?(?:[%\uff05割倍]|percent\b|Prozent\b)", r"\d\s?[人件名]",
    r"\b\d[\d.,]*\s+(?:(?:active|daily|monthly|weekly|new|registered|paying|aktive|neue)\s+)*(?:users?|customers?|orders?|bookings?|people|members?|restaurants?|shops?|guests?|visitors?|subscribers?|Nutzer|Kunden|Mitglieder|Gäste)\b",
)  # fmt: skip
NUMBER: Final = re.compile(r"\d[\d.,]{0,30}\d|\d")
VAGUE: Final = _any(
    r"\bfast\b", r"\beas(?:y|ily)\b", r"\brobust\b", r"\bscalable\b", r"\bseamless(?:ly)?\b",
    r"\befficient(?:ly)?\b", r"\buser-?friendly\b", r"\bflexible\b", r"\bappropriate\b", r"\bseveral\b",
    r"\betc\.?(?=\W|$)", r"\band/or\b", r"\bminimi[sz]e\b", r"\boptimi[sz]e\b", r"\bsupport for\b",
    r"\bintuitive\b", r"\bmodern\b", r"\bstate[- ]of[- ]the[- ]art\b", r"\bschnell\b", r"\beinfach\b",
    r"\bbenutzerfreundlich\b", "使いやす", "高速", "柔軟",
)  # fmt: skip
