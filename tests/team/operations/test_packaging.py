"""What is shipped to run a team: it parses, and every command and option in it exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.docs.test_command_lines import parse

PACKAGING = Path(__file__).parents[3] / "packaging"
COMPOSE = PACKAGING / "compose.yaml"
MANIFESTS = sorted((PACKAGING / "kubernetes").glob("*.yaml"))
DOCKERFILE = (PACKAGING / "Dockerfile").read_text(encoding="utf-8")


def documents(path):
    return list(YAML(typ="safe").load_all(path.read_text(encoding="utf-8")))


def containers():
    """Every container of the manifests, with the object that it is of."""
    for path in MANIFESTS:
        for one in documents(path):
            for container in one["spec"].get("template", {}).get("spec", {}).get("containers", ()):
                yield one, container


def commands():
    """Every command line of ours."""
    services = documents(COMPOSE)[0]["services"]
    yield from (one["command"] for one in services.values() if "command" in one)
    yield from (container["args"] for _, container in containers())
    yield YAML(typ="safe").load(re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[1])


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_a_command_exists_with_its_options(words):
    parse(["clew", *words])


def test_services_wait_for_what_there_is():
    services = documents(COMPOSE)[0]
    for name, one in services["services"].items():
        assert set(one.get("depends_on", ())) <= set(services["services"]), name
        for volume in one.get("volumes", ()):
            assert volume.partition(":")[0] in services["volumes"]


def test_ports_and_probes_are_those_of_the_server():
    server = next(container for _, container in containers() if container["name"] == "server")
    ports = {port["name"]: port["containerPort"] for port in server["ports"]}

    assert ports == {"http": 8765, "metrics": 9465}
    assert server["args"][server["args"].index("--metrics-port") + 1] == "9465"
    for kind, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert server[kind]["httpGet"] == {"path": path, "port": "http"}


def test_labels_lead_to_their_pods():
    for one, _ in containers():
        if "selector" in one["spec"]:
            wanted = one["spec"]["selector"]["matchLabels"]
            assert wanted.items() <= one["spec"]["template"]["metadata"]["labels"].items()


def test_the_image_takes_extras_and_variables_that_there_are():
    project = (PACKAGING.parent / "pyproject.toml").read_text(encoding="utf-8")
    for extra in {name for names in re.findall(r"\[([a-z,]+)\]'", DOCKERFILE) for name in names.split(",")}:  # fmt: skip
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE)
    settings = (PACKAGING.parent / "docs/reference/settings.md").read_text(encoding="utf-8")
    texts = [DOCKERFILE, *(path.read_text(encoding="utf-8") for path in (COMPOSE, *MANIFESTS))]
    for name in set(re.findall(r"\bCLEW_[A-Z_]+\b", "\n".join(texts))) - {"CLEW_DATABASE_PASSWORD"}:
        assert f"`{name}`" in settings
