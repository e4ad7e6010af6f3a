"""Facts out of a repository: what its files say, and nothing from outside it."""

from __future__ import annotations

from clew.advisors.extract.repo_facts import from_repository


def texts(facts, prefix):
    return {item.text: item.source for item in facts.of(prefix)}


def test_a_python_project(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "meals"\ndescription = "A web app that plans meals."\n'
        'dependencies = ["django>=5", "psycopg[binary]", "redis"]\n',
        encoding="utf-8",
    )
    (tmp_path / "README.md").write_text(
        "# Meals\n\n[![badge](x)](y)\n\nMeals helps cooks.\n\n## Installation\n\nRun `pip install meals`; you must have Oracle.\n\n"
        "## Features\n\n- Plan a week\n\n## Non-goals\n\n- Selling food\n",
        encoding="utf-8",
    )
    facts = from_repository(tmp_path)
    assert facts.title == "meals"
    assert texts(facts, "TE") == dict.fromkeys(
        ["Python", "Django", "PostgreSQL", "Redis"], "file:pyproject.toml"
    )
    assert not facts.features, "what a README lists is there already, and makes no specs"
    assert texts(facts, "BG") == {"A web app that plans meals.": "file:pyproject.toml"}
    assert not facts.constraints


def test_node_rust_go_and_workspaces(tmp_path):
    (tmp_path / "package.json").write_text(
        '{"name": "shop", "description": "A shop", "dependencies": {"react": "1"}, "devDependencies": {"typescript": "5"}}',
        encoding="utf-8",
    )
    (tmp_path / "Cargo.toml").write_text(
        '[package]\nname = "core"\n[dependencies]\nrusqlite = "1"\n', encoding="utf-8"
    )
    (tmp_path / "go.mod").write_text("module example.com/x/tool\n\ngo 1.22\n", encoding="utf-8")
    (tmp_path / "compose.yml").write_text(
        "services:\n  db:\n    image: postgres:16\n", encoding="utf-8"
    )
    (tmp_path / "apps" / "web").mkdir(parents=True)
    (tmp_path / "apps" / "web" / "package.json").write_text(
        '{"description": "Shows the shop"}', encoding="utf-8"
    )
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    facts = from_repository(tmp_path)
    assert set(texts(facts, "TE")) == {
        "TypeScript", "React", "Rust", "SQLite", "Go", "PostgreSQL", "GitHub Actions",
    }  # fmt: skip
    assert texts(facts, "CP") == {"web": "file:apps/web"}
    assert facts.components[0].get("responsibility") == "Shows the shop"


def test_broken_missing_and_foreign_files_say_nothing(tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "README.md").write_text("# Secret\n\nThe password is here.\n", encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").symlink_to(secret / "README.md")
    (project / "apps").symlink_to(secret)
    (project / "pyproject.toml").write_text("not [ toml", encoding="utf-8")
    (project / "package.json").write_text('["a list"]', encoding="utf-8")
    (project / "Cargo.toml").write_bytes(b"\xff\xfe")
    assert from_repository(project).items == ()
    assert from_repository(tmp_path / "missing").items == ()


def test_a_large_repository_is_read_in_part(tmp_path):
    for number in range(3000):
        (tmp_path / "packages" / f"p{number}").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# X\n\n" + "Words and words. " * 20_000, encoding="utf-8")
    facts = from_repository(tmp_path)
    assert len(facts.components) == 12
