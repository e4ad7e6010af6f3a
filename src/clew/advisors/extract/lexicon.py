"""Names that are recognised in a text: technologies, external systems, roles, parts."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Technology(NamedTuple):
    """A technology by its usual name, and what it is for."""

    name: str
    used_for: str


_BY_USE: Final = {
    "programming language": "Python|Java|Kotlin|Swift|TypeScript|JavaScript|Ruby|PHP|Scala|Elixir|Haskell|C#|C\\+\\+|Rust|Golang",
    "web framework": "Django|FastAPI|Flask|Rails|Laravel|Spring Boot|Express|NestJS|Phoenix|Starlette|ASP\\.NET",
    "user interface": "React Native|React|Vue|Angular|Svelte|Next\\.js|Flutter|SwiftUI|HTMX|Tailwind|Electron",
    "database": "PostgreSQL|Postgres|MySQL|MariaDB|SQLite|MongoDB|DynamoDB|Oracle|SQL Server|Cassandra|Firestore|CouchDB",
    "cache": "Redis|Memcached|Valkey",
    "message queue": "Kafka|RabbitMQ|NATS|SQS|Celery|MQTT",
    "search": "Elasticsearch|OpenSearch|Meilisearch|Solr",
    "hosting": "AWS|Azure|Google Cloud|GCP|Heroku|Fly\\.io|Vercel|Netlify|Cloudflare|Hetzner",
    "containers": "Docker|Kubernetes|Podman|Helm",
    "interface style": "GraphQL|gRPC|REST|WebSockets?|OpenAPI",
    "machine learning": "PyTorch|TensorFlow|scikit-learn|LangChain|Ollama",
    "monitoring": "Prometheus|Grafana|OpenTelemetry|Sentry",
    "continuous integration": "GitHub Actions|GitLab CI|Jenkins|CircleCI",
}
_SAME: Final = {"Postgres": "PostgreSQL", "Golang": "Go", "GCP": "Google Cloud"}
TECHNOLOGY: Final = {
    use: re.compile(
        rf"(?<![A-Za-z0-9_.+#-])(?:{names})(?![A-Za-z0-9_+#-]|\.[A-Za-z])", re.IGNORECASE
    )
    for use, names in _BY_USE.items()
}
_NAMES: Final = {
    re.sub(r"\\|\?", "", name).casefold(): re.sub(r"\\|\?", "", name)
    for names in _BY_USE.values()
    for name in names.split("|")
}
# "Go", "express" and "rust" are also ordinary words: these count only as they are written.
_CASED: Final = frozenset({"Express", "Rust", "Swift", "Oracle", "Phoenix", "Flask", "Rails", "REST", "Helm", "Angular", "Flutter", "Celery", "Ruby", "Electron", "Scala"})  # fmt: skip
_GO: Final = re.compile(
    r"\b(?:in|with|using|and|or) Go\b(?=[\s.,;)]|$)|\bGo (?:service|backend|program)\b"
)

ALTERNATIVES: Final = {
    "programming language": "another language that the team knows",
    "web framework": "another framework of the same language, or none",
    "user interface": "another interface toolkit, or pages made on the server",
    "database": "another kind of store: relational, document, or files",
    "cache": "no cache",
    "message queue": "direct calls, or a table as a queue",
    "search": "the search of the database",
    "hosting": "another provider, or machines of one's own",
    "containers": "packages installed on a machine",
    "interface style": "another style of interface",
    "machine learning": "rules instead of a learned model",
    "monitoring": "logs alone",
    "continuous integration": "another runner",
}
SIGNIFICANT: Final = (
    "programming language", "web framework", "user interface", "database", "message queue",
    "hosting", "interface style", "machine learning",
)  # fmt: skip

EXTERNAL: Final = {
    "payment": "Stripe|PayPal|Adyen|Klarna|Square|Braintree",
    "messages": "Slack|Microsoft Teams|Discord|Telegram|WhatsApp|Twilio|SendGrid|Mailgun|Mailchimp|LINE",
    "calendar": "Google Calendar|Outlook Calendar|Outlook|iCal|CalDAV",
    "code hosting": "GitHub|GitLab|Bitbucket",
    "work tracking": "Jira|Trello|Asana|Linear|Notion",
    "business systems": "SAP|Salesforce|HubSpot|Shopify|DATEV|QuickBooks|Xero|Zendesk|Odoo",
    "identity": "Keycloak|Auth0|Okta|Active Directory|LDAP|Google Sign-In",
    "maps": "Google Maps|OpenStreetMap|Mapbox",
    "files": "Dropbox|Google Drive|OneDrive|Nextcloud|SharePoint",
    "language models": "OpenAI|Anthropic|Gemini API|Mistral",
}
EXTERNAL_NAME: Final = {
    purpose: re.compile(rf"(?<![A-Za-z0-9_-])(?:{names})(?![A-Za-z0-9_-])")
    for purpose, names in EXTERNAL.items()
}
NAMED_SYSTEM: Final = re.compile(
    r"\b(?:integrat\w+ with|connect\w* to|syncs? with|synchroni[sz]\w+ with|talks? to|import\w* from|export\w* to|Anbindung an|Schnittstelle zu[rm]?)\s+(?:the |an? |our |existing |their |die |das |den |der |unser\w* )*"
    r"((?:[A-ZÄÖÜ][\w.+-]*|[\w-]+ (?:system|API|service|register|ERP|CRM))(?: [A-ZÄÖÜ][\w.+-]*)*)"
)

_ROLES: Final = (
    "users?|customers?|clients?|consumers?|admins?|administrators?|managers?|staff|employees?|workers?|students?|"
    "pupils?|teachers?|parents?|doctors?|nurses?|patients?|drivers?|developers?|engineers?|analysts?|operators?|"
    "owners?|guests?|waiters?|cooks?|chefs?|merchants?|sellers?|buyers?|vendors?|suppliers?|partners?|volunteers?|"
    "members?|visitors?|citizens?|residents?|tenants?|landlords?|accountants?|lawyers?|researchers?|scientists?|"
    "librarians?|readers?|authors?|editors?|moderators?|players?|farmers?|technicians?|mechanics?|dispatchers?|"
    "restaurants?|receptionists?|treasurers?|trainers?|coaches|coach|auditors?|regulators?|freelancers?|designers?|"
    "team leads?|product owners?|schools?|hospitals?|small businesses|teams"
)
_MODIFIER: Final = (
    "small|large|local|end|power|registered|new|internal|external|warehouse|office|shift|restaurant|school|hospital|"
    "team|project|product|store|shop|sales|support|system|account|front-desk|kitchen|service|field|club|night|"
    "software|data|site|property|blind|elderly|young|busy|remote|regional|independent"
)
ROLE: Final = re.compile(
    rf"\b(?:(?:{_MODIFIER}) ){{0,2}}(?:{_ROLES})\b(?!-|['\u2019]s\b| (?:accounts?|interfaces?|names?|data|stor(?:y|ies)|experience|management)\b)",
    re.IGNORECASE,
)
ROLE_GERMAN: Final = re.compile(
    r"\b\w*(?:[Kk]unden|[Nn]utzer|[Mm]itarbeiter|[Aa]dministratoren|[Ää]rzte|[Pp]atienten|[Ff]ahrer|[Ll]ehrer|"
    r"[Ss]chüler|[Ee]ltern|[Gg]äste|[Hh]ändler|[Mm]itglieder|[Kk]assenwart|[Vv]orstand|[Tt]rainer|[Vv]erwalter|"
    r"[Hh]elfer|[Tt]echniker|[Kk]ellner|[Kk]öche)(?:innen|in|n)?\b"
)
ROLE_JAPANESE: Final = re.compile(
    "(?:一般)?(?:利用者|ユーザー|顧客|管理者|従業員|社員|店員|店長|患者|医師|看護師|学生|教師|先生|保護者|運転手|担当者|お客様|来店客|スタッフ|配達員|会員)"
)
SECONDARY: Final = re.compile(
    r"admin|manager|owner|operator|auditor|regulator|accountant|treasurer|moderator|supplier|partner|vorstand|kassenwart|verwalter|管理者|店長",
    re.IGNORECASE,
)

# What people do with a program; "Waiters see the evening's reservations" says what it is for.
_DEEDS: Final = (
    "accept|add|appl(?:y|ie)|approve|archive|arrange|assign|attach|book|borrow|browse|buy|cancel|change|chat|choose|comment|"
    "compare|complete|confirm|cop(?:y|ie)|create|delete|download|edit|enter|fill|filter|find(?!s? (?:it|that)\\b)|follow|get|"
    "invite|join|label|list|log|manage|mark|message|order|pay(?=s? (?:online|by|with|through|via)\\b)|pick|plan|post|preview|publish|"
    "rate|read|receive|record|redeem|register|reject|rename|renew|rent|reorder|repl(?:y|ie)|report|request|reschedule|"
    "reserve|return|review|save|scan|schedule|search|see|select|share|sign|sort|submit|subscribe|swap|tag|transfer|"
    "unsubscribe|update|upload|verif(?:y|ie)|view|vote|watch|write|print"
)
_DEEDS_GERMAN: Final = (
    "(?:buch|reservier|bestell|bezahl|stornier|änder|bearbeit|erfass|such|filter|druck|scann|bewert|wähl|plan|verwalt|prüf|"
    "bestätig|meld|schreib|teil|kommentier|vergleich)(?:e?n|e?t)|sehen|sieht|finden|findet|lesen|liest|erhalten|erhält|"
    "bekommen|bekommt"
)
_DEEDS_JAPANESE: Final = "見|閲覧|確認|予約|注文|選|検索|登録|変更|編集|印刷|受け取|支払|取り消|キャンセル|共有|送|投稿|入力|承認|管理"
_WHO: Final = rf"(?:(?:{_MODIFIER}) ){{0,2}}(?:{_ROLES})"
_THE: Final = "(?:(?:the|an?|every|each|all|our|any|both) )?"
DEED: Final = (
    re.compile(
        rf"{_THE}{_WHO}(?:(?:,| and| or) (?:the )?{_WHO})*(?: (?:also|then|always|only|later))? (?:{_DEEDS})(?:e?s)?\b(?= \w)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:(?:[DdJj](?:er|ie|as|ede[rs]?)|[Ee]ine?|[Aa]lle|[Uu]nsere) )?{ROLE_GERMAN.pattern} (?:{_DEEDS_GERMAN})\b(?= \w)"
    ),
    re.compile(
        rf"{ROLE_JAPANESE.pattern}[はが].{{1,60}}を(?:{_DEEDS_JAPANESE})(?!.*(?:した|ました)。?$)"
    ),
)
# "Customers must be greeted by name": what is done for people, not what is asked of them.
SERVED: Final = re.compile(
    rf"{_THE}{_WHO} must (?:also |always )?be (?!(?:authenticat|authori[sz]|bas|encrypt|identifi|insur|licens|limit|locat|logg|"
    r"protect|register|regist|requir|train|verifi)ed\b)(?:\w+ed|told|shown|sent|given|taught|led)\b",
    re.IGNORECASE,
)

PARTS: Final = {
    "Web application": (re.compile(r"\bweb[ -]?(?:app(?:lication)?|site|front[ -]?end|portal|interface)\b|\bwebsite\b|\bportal\b|\bWeb-?(?:anwendung|seite|App)\b|ウェブ(?:アプリ|サイト)|Web(?:アプリ|サイト)", re.IGNORECASE), "shows pages to people and takes their input"),
    "Mobile app": (re.compile(r"\bmobile (?:app|application|client)\b|\b(?:iOS|Android|smartphone|phone) app\b|\bHandy-?App\b|(?:スマホ|スマートフォン|モバイル)(?:用)?アプリ", re.IGNORECASE), "is used on phones and tablets"),
    "Desktop application": (re.compile(r"\bdesktop (?:app|application|client|program)\b", re.IGNORECASE), "is used on desktop computers"),
    "Command line": (re.compile(r"\bcommand[- ]line\b|\bCLI\b|\bKommandozeile\b"), "is used in a terminal"),
    "API": (re.compile(r"\b(?:REST(?:ful)? |public |HTTP |own )API\b|\b(?:back[ -]?end|API server)\b", re.IGNORECASE), "serves other programs"),
    "Dashboard": (re.compile(r"\b(?:admin(?:istration)? )?(?:dashboard|panel|back office)\b|ダッシュボード|管理画面", re.IGNORECASE), "shows the state of things to those who run them"),
    "Background worker": (re.compile(r"\b(?:background (?:job|worker|task)s?|nightly (?:job|batch|import|export)|cron job|scheduler)\b|バッチ処理", re.IGNORECASE), "does work that nobody waits for"),
    "Chat bot": (re.compile(r"\b(?:chat ?bot|slack bot|telegram bot)\b", re.IGNORECASE), "answers in a chat"),
    "Data store": (re.compile(r"\bdatabase\b|\bDatenbank\b|データベース", re.IGNORECASE), "keeps the data"),
}  # fmt: skip

# Parts that never stand for a whole system.
PARTIAL: Final = frozenset({"Data store", "Dashboard", "Background worker", "Chat bot"})

CATEGORY: Final = re.compile(
    r"\b(?:an?|the|our|new|eine?n?)\s+((?:[\w/+-]+\s+){0,5}?(?:app|application|system|tool|platform|service|library|website|"
    r"site|portal|dashboard|game|bot|plug-?in|extension|engine|framework|API|CLI|program|marketplace|software|assistant|"
    r"planner|tracker|editor|server|client|\w*-?App|\w*[Ss]ystem|\w*anwendung|\w*[Pp]ortal|\w*verwaltung))\b",
    re.IGNORECASE,
)
# A text that begins with what it is about: "A shop.", "An exchange for used books."
OPENING: Final = re.compile(
    r"(?:An?|Eine?)\s+((?:(?!(?:an?|the|is|are|ist|der|die|das)\b)[\w/+-]+\s+){0,2}?[\w/+-]+)"
    r"(?=[.!]?$|,?\s(?:for|to|that|which|where|with|on|in|für|mit|zum|zur|im|in dem|in der)\b)"
)
CATEGORY_JAPANESE: Final = re.compile(
    r"([一-龯ァ-ヶーA-Za-z0-9・]{1,20}?(?:システム|アプリ(?:ケーション)?|ツール|サービス|サイト|ソフト(?:ウェア)?))"
)


def technologies_in(text: str) -> list[Technology]:
    """The technologies that a text names, in the order of the text."""
    found: list[tuple[int, Technology]] = []
    for use, pattern in TECHNOLOGY.items():
        for match in pattern.finditer(text):
            name = _NAMES.get(match[0].casefold(), match[0])
            if name in _CASED and match[0] != name:
                continue
            found.append((match.start(), Technology(_SAME.get(name, name), use)))
    if written := _GO.search(text):
        found.append((written.start(), Technology("Go", "programming language")))
    unique = {one.name: one for _, one in sorted(found)}
    return list(unique.values())


def systems_in(text: str) -> list[tuple[str, str]]:
    """External systems that a text names, each with its purpose as far as it is known."""
    found = [
        (match.start(), match[0], purpose)
        for purpose, pattern in EXTERNAL_NAME.items()
        for match in pattern.finditer(text)
    ]
    known = " ".join(name for _, name, _ in found)
    for match in NAMED_SYSTEM.finditer(text):
        if match[1] not in known and not any(name in match[1] for _, name, _ in found):
            found.append((match.start(1), match[1].rstrip("."), ""))
    return list({name: (name, purpose) for _, name, purpose in sorted(found)}.values())


def says_a_deed(text: str) -> bool:
    """Whether a sentence says what people do with the product, or what it does for them."""
    return SERVED.match(text) is not None or any(pattern.match(text) for pattern in DEED)


def category_in(text: str) -> str:
    """What kind of thing a sentence says that the product is, or nothing."""
    found = CATEGORY.search(text) or CATEGORY_JAPANESE.search(text) or OPENING.match(text)
    opened = found and found.re is OPENING
    return "" if not found or (opened and ROLE.match(found[1])) else found[1].strip()


def role_stem(role: str) -> str:
    """What two names of the same people have in common: the last word without its ending."""
    word = role.casefold().split()[-1] if role.split() else ""
    return re.sub(r"(?:innen|ern?|en|n|es|s|e)$", "", word) or word


def roles_in(text: str) -> list[str]:
    """Who a text speaks of, in the order of the text."""
    found = [
        (match.start(), match[0])
        for pattern in (ROLE, ROLE_GERMAN, ROLE_JAPANESE)
        for match in pattern.finditer(text)
    ]
    return list(dict.fromkeys(role for _, role in sorted(found)))
