"""Facts out of a repository: manifests and layout. Only read, never run, never obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from clew.advisors.documents.model import Facts
from clew.advisors.extract.statements import inline
from clew.kit.jsontext import JsonError, loads

LARGEST_FILE: Final = 400_000
MOST_PARTS: Final = 12
_PART_DIRECTORIES: Final = ("services", "apps", "packages", "cmd", "crates")
_PACKAGES: Final = {
    "django": "Django", "flask": "Flask", "fastapi": "FastAPI", "starlette": "Starlette", "celery": "Celery",
    "psycopg": "PostgreSQL", "psycopg2": "PostgreSQL", "psycopg2-binary": "PostgreSQL", "asyncpg": "PostgreSQL",
    "pg": "PostgreSQL", "mysqlclient": "MySQL", "mysql2": "MySQL", "pymongo": "MongoDB", "mongoose": "MongoDB",
    "redis": "Redis", "ioredis": "Redis", "express": "Express", "@nestjs/core": "NestJS", "react": "React",
    "vue": "Vue", "svelte": "Svelte", "@angular/core": "Angular", "next": "Next.js", "electron": "Electron",
    "react-native": "React Native", "torch": "PyTorch", "tensorflow": "TensorFlow", "graphql": "GraphQL",
    "grpcio": "gRPC", "tonic": "gRPC", "kafka-python": "Kafka", "rusqlite": "SQLite", "better-sqlite3": "SQLite",
    "elasticsearch": "Elasticsearch", "typescript": "TypeScript", "rails": "Rails",
    "postgres": "PostgreSQL", "mysql": "MySQL", "mongo": "MongoDB", "mariadb": "MariaDB", "rabbitmq": "RabbitMQ",
}  # fmt: skip


def from_repository(path: Path) -> Facts:
    """What a project's own files say about it; a directory without any says nothing."""
    facts = Facts()
    for reader in (_python, _node, _rust, _go):
        facts = facts.merged(reader(path))
    for name in ("docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"):
        images = re.findall(r"^\s*image:\s*['\"]?([\w./-]+)", _text(path, name), re.MULTILINE)
        facts = facts.merged(_technologies(f"file:{name}", " ".join(images)))
    if _is_inside(path, path / ".github" / "workflows"):
        facts = _with_technology(facts, "GitHub Actions", "file:.github/workflows")
    return facts.merged(_parts(path))


def _text(root: Path, name: str) -> str:
    """A file's text; nothing when it is missing, too large, or outside the repository."""
    file = root / name
    try:
        if not _is_inside(root, file) or not file.is_file() or file.stat().st_size > LARGEST_FILE:
            return ""
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _is_inside(root: Path, path: Path) -> bool:
    try:
        return path.exists() and path.resolve().is_relative_to(root.resolve())
    except OSError:
        return False


def _toml(root: Path, name: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(_text(root, name))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _json(root: Path, name: str) -> dict[str, Any]:
    text = _text(root, name)
    try:
        value = loads(text) if text else {}
    except JsonError:
        return {}
    return value if isinstance(value, dict) else {}


def _table(value: object, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _with_technology(facts: Facts, name: str, source: str) -> Facts:
    return facts.adding("TE", name, reason=f"in use: {source}", source=source)


def _technologies(source: str, names: str) -> Facts:
    """The technologies that well-known packages stand for; of the others nothing is said."""
    facts = Facts()
    for name in names.split():
        plain = re.split(r"[<>=!~;:\[ ]", name.lower(), maxsplit=1)[0]
        base = plain.rpartition("/")[2] if not plain.startswith("@") else plain
        if base in _PACKAGES:
            facts = _with_technology(facts, _PACKAGES[base], source)
    return facts


def _described(file: str, about: dict[str, Any], language: str, names: Iterable[str]) -> Facts:
    """What a manifest says about its project: name, description, language and dependencies."""
    source = f"file:{file}"
    name, said = about.get("name"), about.get("description")
    facts = Facts(inline(name) if isinstance(name, str) else "")
    if isinstance(said, str) and said.strip():
        facts = facts.adding("BG", inline(said), source=source)
    facts = _with_technology(facts, language, source)
    return facts.merged(_technologies(source, " ".join(names)))


def _python(root: Path) -> Facts:
    manifest = _toml(root, "pyproject.toml")
    project = _table(manifest, "project") or _table(manifest, "tool", "poetry")
    if project:
        listed = project.get("dependencies")
        names = map(str, listed if isinstance(listed, list) else _table(project, "dependencies"))
        return _described("pyproject.toml", project, "Python", names)
    required = _text(root, "requirements.txt")
    return _described("requirements.txt", {}, "Python", [required]) if required else Facts()


def _node(root: Path) -> Facts:
    manifest = _json(root, "package.json")
    names = [*_table(manifest, "dependencies"), *_table(manifest, "devDependencies")]
    language = "TypeScript" if "typescript" in names else "JavaScript"
    return _described("package.json", manifest, language, names) if manifest else Facts()


def _rust(root: Path) -> Facts:
    manifest = _toml(root, "Cargo.toml")
    package, names = _table(manifest, "package"), _table(manifest, "dependencies")
    return _described("Cargo.toml", package, "Rust", names) if manifest else Facts()


def _go(root: Path) -> Facts:
    text = _text(root, "go.mod")
    module = re.search(r"^module\s+(\S+)", text, re.MULTILINE)
    about = {"name": module[1].rpartition("/")[2] if module else ""}
    required = re.findall(r"^\s*(?:require\s+)?([\w.-]+\.[\w./-]+)\s+v", text, re.MULTILINE)
    return _described("go.mod", about, "Go", required) if text else Facts()


def _parts(root: Path) -> Facts:
    """Directories whose children run or are released on their own."""
    facts = Facts()
    for place, name in list(_part_names(root))[:MOST_PARTS]:
        manifest = _json(root, f"{place}/{name}/package.json")
        cargo = _table(_toml(root, f"{place}/{name}/Cargo.toml"), "package")
        about = manifest.get("description") or cargo.get("description") or ""
        facts = facts.adding(
            "CP",
            inline(name),
            responsibility=inline(about) if isinstance(about, str) else "",
            source=f"file:{place}/{name}",
        )
    return facts


def _part_names(root: Path) -> Iterator[tuple[str, str]]:
    for place in _PART_DIRECTORIES:
        directory = root / place
        if not _is_inside(root, directory) or not directory.is_dir():
            continue
        for entry in sorted(directory.iterdir()):
            if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith((".", "_")):
                yield place, entry.name
