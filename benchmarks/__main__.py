"""The runner: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

from benchmarks.bench import Bench, Workshop
from benchmarks.finding import claim as finding
from benchmarks.measurement import machine
from benchmarks.measurement.peers import read_peers
from benchmarks.results import report
from benchmarks.rooms import (
    command_search,
    culprit,
    growth,
    history_growth,
    history_index,
    ingest_growth,
    retrieval,
    specs_answers,
    specs_store,
    thread,
    why_growth,
    work_run,
)
from benchmarks.server import (
    cold_start,
    history_answers,
    imports,
    kernel_messages,
    memory,
    warm_calls,
)

CLAIMS: tuple[ModuleType, ...] = (
    cold_start,
    warm_calls,
    kernel_messages,
    history_index,
    ingest_growth,
    history_growth,
    history_answers,
    command_search,
    culprit,
    finding,
    retrieval,
    specs_store,
    specs_answers,
    work_run,
    growth,
    memory,
    imports,
    why_growth,
    thread,
)


def main(arguments: list[str] | None = None) -> int:
    """Run the claims that were asked for and show what they found."""
    options = read_arguments(arguments)
    if options.list:
        print(list_claims())
        return 0
    finished = run_claims(options)
    print(report.as_text(finished))
    if options.json:
        options.json.write_text(json.dumps(report.as_json(finished), indent=2) + "\n")
    if options.markdown:
        options.markdown.write_text(report.as_markdown(finished))
    return 0


def read_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line, with each claim's settings worked out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes and fewer samples, for about a minute"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write them as Markdown")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these claims")
    parser.add_argument(
        "--repository", type=Path, metavar="DIR", help="a git directory for the history claim"
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another stdio server to compare with; may be repeated",
    )
    parser.add_argument("--list", action="store_true", help="list claims and their settings")
    parser.add_argument(
        "settings", nargs="*", metavar="NAME.SETTING=VALUE", help="change a claim's setting"
    )
    options = parser.parse_args(arguments)
    words = [*options.only, *options.settings]
    options.only = [word for word in words if "=" not in word]
    known = {claim.NAME for claim in CLAIMS}
    unknown = set(options.only) - known
    if unknown:
        parser.error(f"unknown claim: {', '.join(sorted(unknown))} (of {', '.join(sorted(known))})")
    try:
        options.peers = read_peers(options.peer)
        options.settings = settle(options.quick, [word for word in words if "=" in word])
    except ValueError as error:
        parser.error(str(error))
    return options


def settle(quick: bool, changes: list[str]) -> dict[str, dict[str, int]]:  # noqa: FBT001
    """Every claim's settings, with the changes that the command line names."""
    settings = {claim.NAME: dict(claim.QUICK if quick else claim.FULL) for claim in CLAIMS}
    for change in changes:
        place, _, value = change.partition("=")
        name, _, setting = place.partition(".")
        if setting not in settings.get(name, {}) or not value.isdecimal() or not int(value):
            raise ValueError(f"not a setting and a positive number: {change}")
        settings[name][setting] = int(value)
    return settings


def list_claims() -> str:
    """Every claim's name, title and settings (full / quick)."""
    lines = []
    for claim in CLAIMS:
        lines.append(f"{claim.NAME}: {claim.TITLE}")
        lines += [f"  {claim.NAME}.{key}={n} / {claim.QUICK[key]}" for key, n in claim.FULL.items()]
    return "\n".join(lines)


def run_claims(options: argparse.Namespace) -> report.Report:
    """Measure, in the order of the claims."""
    begun = time.monotonic()
    described = machine.describe() | {"load before": machine.load()}
    chosen = [claim for claim in CLAIMS if not options.only or claim.NAME in options.only]
    settings = {claim.NAME: options.settings[claim.NAME] for claim in chosen}
    with tempfile.TemporaryDirectory(prefix="clew-bench-") as directory:
        repository = options.repository and options.repository.resolve()
        with Workshop(Path(directory), _say, repository, options.peers) as workshop:
            claims = [run_claim(claim, Bench(workshop, settings[claim.NAME])) for claim in chosen]
    _say("")
    return report.Report(
        machine=described | {"load after": machine.load()},
        quick=options.quick,
        settings=settings,
        claims=claims,
        date=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        seconds=time.monotonic() - begun,
    )


def run_claim(module: ModuleType, bench: Bench) -> report.Claim:
    """Measure one claim, and the seconds that took."""
    begun = time.monotonic()
    bench.say(module.TITLE)
    claim: report.Claim = module.run(bench)
    claim.seconds = time.monotonic() - begun
    return claim


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
