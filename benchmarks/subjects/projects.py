"""Projects with specs to measure on, each made once in a run."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.bench import Bench
from clew.specs.files.ids import base36


def specs_of(bench: Bench, count: int) -> Path:
    """A project with so many specs."""

    def make() -> Path:
        bench.say(f"writing {count:,} specs")
        return generate(bench.home / f"specs-{count}", count)

    return bench.workshop.once(f"specs {count}", make)


def generate(root: Path, count: int) -> Path:
    """A project with so many specs, 500 a day, that depend on earlier ones."""
    specs = root / ".chant" / "specs"
    specs.mkdir(parents=True)
    dice = random.Random(7)
    statuses = ["pending"] * 3 + ["completed"] * 5 + ["in_progress", "failed"]
    ids: list[str] = []
    for number in range(count):
        day = number // 500
        date = f"{2020 + day // 336}-{1 + day // 28 % 12:02}-{1 + day % 28:02}"
        spec_id = f"{date}-{base36(number % 500 + 1)}-{base36(dice.randrange(36**3))}"
        wanted = dice.sample(ids[-50:], min(len(ids), dice.randrange(3)))
        needs = f"depends_on: [{', '.join(wanted)}]\n" if wanted else ""
        text = (
            f"---\ntype: code\nstatus: {dice.choice(statuses)}\n{needs}"
            f"labels:\n- area{number % 7}\ntarget_files:\n- src/module{number % 90}.py\n---\n"
            f"# Change number {number}\n\n{'Some words about what to do. ' * 14}\n\n"
            "## Acceptance Criteria\n\n- [ ] It works\n- [x] It is tested\n- [ ] It is documented\n"
        )
        (specs / f"{spec_id}.md").write_text(text, encoding="utf-8")
        ids.append(spec_id)
    return root
