"""The options of a server's command line, as data.

The quick start-up path reads them by hand; the command line proper builds its own option
objects, help and completion from the same table and takes over whenever something is unusual.
"""

from __future__ import annotations

import os


class ServeOption:
    """One option of `serve`."""

    def __init__(self, flag: str, help_text: str, *, takes: str = "", variable: str = "") -> None:
        self.flag = flag
        self.key = flag.lstrip("-").replace("-", "_")
        self.takes = takes
        self.variable = variable
        self.help = help_text

    @property
    def is_list(self) -> bool:
        """Whether it takes a list; given again, it adds to what it took before."""
        return self.takes == "LIST"


SERVE_OPTIONS = (
    ServeOption(
        "--toolsets",
        "Offer these groups of tools, or all.",
        takes="LIST",
        variable="CLEW_TOOLSETS",
    ),
    ServeOption("--tools", "Offer exactly these tools.", takes="LIST", variable="CLEW_TOOLS"),
    ServeOption(
        "--exclude-tools", "Exclude these tools.", takes="LIST", variable="CLEW_EXCLUDE_TOOLS"
    ),
    ServeOption("--read-only", "Offer only read-only tools.", variable="CLEW_READ_ONLY"),
    ServeOption(
        "--extended", "Offer Clew's own tools beside the face's.", variable="CLEW_EXTENDED"
    ),
    ServeOption("--project", "Project directory.", takes="DIRECTORY", variable="CLEW_PROJECT"),
    ServeOption("--db", "Path of the history index.", takes="FILE", variable="COMMITMUX_DB"),
    ServeOption(
        "--database",
        "Address of a team's database, postgresql://…",
        takes="ADDRESS",
        variable="CLEW_DATABASE",
    ),
    ServeOption("--http", "Serve HTTP instead of standard input and output."),
    ServeOption("--host", "With --http: address to listen on (127.0.0.1).", takes="ADDRESS"),
    ServeOption("--port", "With --http: port to listen on (8765; 0 picks one).", takes="PORT"),
    ServeOption(
        "--token-file",
        "With --http: file with the bearer token.",
        takes="FILE",
        variable="CLEW_TOKEN_FILE",
    ),
    ServeOption(
        "--workers",
        "With --http: number of processes that run calls (default: the number of cores).",
        takes="N",
    ),
    ServeOption(
        "--metrics-port",
        "With --http and --database: port on which Prometheus finds /metrics.",
        takes="PORT",
    ),
    ServeOption(
        "--log-format",
        "With --http: text, or json for one object on each line.",
        takes="FORMAT",
        variable="CLEW_LOG_FORMAT",
    ),
    ServeOption("--no-auth", "With --http: require no token. Only for tests on your own machine."),
)

LISTS = tuple(option.key for option in SERVE_OPTIONS if option.is_list)
HTTP_ONLY = (
    "host", "port", "token_file", "workers", "metrics_port", "log_format", "no_auth",
)  # fmt: skip
_FALSE = ("", "0", "false", "no", "off")


def read_serve_options(arguments: list[str]) -> dict[str, str] | None:
    """The options by key, or None when the words are not plainly understood."""
    by_flag = {option.flag: option for option in SERVE_OPTIONS}
    found: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        flag, equals, value = word.partition("=")
        option = by_flag.get(flag)
        if option is None or (equals and not option.takes):
            return None
        if option.takes and not equals:
            following = next(words, None)
            if following is None or following.startswith("-"):
                return None
            value = following
        if option.is_list and option.key in found:
            value = f"{found[option.key]},{value}"
        found[option.key] = value if option.takes else "1"
    if "http" not in found and any(key in found for key in HTTP_ONLY):
        return None
    return with_environment(found)


def with_environment(given: dict[str, str]) -> dict[str, str]:
    """The given options, completed from the environment variables that stand for them."""
    options = dict(given)
    for option in SERVE_OPTIONS:
        value = os.environ.get(option.variable, "") if option.variable else ""
        if option.key in options or not value:
            continue
        if option.takes:
            options[option.key] = value
        elif value.lower() not in _FALSE:
            options[option.key] = "1"
    return options
