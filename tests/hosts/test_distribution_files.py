import json
import tomllib
from pathlib import Path

import pytest

from clew import __version__
from clew.catalog.faces import FACES

ROOT = Path(__file__).parents[2]


@pytest.fixture
def registry():
    return json.loads((ROOT / "server.json").read_text())


@pytest.fixture
def bundle():
    return json.loads((ROOT / "packaging/mcpb/manifest.json").read_text())


def test_every_file_names_the_same_version(registry, bundle):
    versions = {registry["version"], bundle["version"], __version__}
    versions |= {package["version"] for package in registry["packages"]}
    assert versions == {__version__}


def test_the_registry_entry_has_the_form_that_the_registry_takes(registry):
    assert registry["$schema"].endswith("/2025-12-11/server.schema.json")
    assert registry["name"] == "io.github.clew-dev/clew"
    assert len(registry["description"]) <= 100
    [package] = registry["packages"]
    assert package["registryType"] == "pypi"
    assert package["runtimeHint"] == "uvx"
    assert package["transport"] == {"type": "stdio"}
    [argument] = package["packageArguments"]
    assert argument == {"type": "positional", "value": FACES["clew"].serve_command}


def test_the_package_is_the_one_that_pyproject_names(registry):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert registry["packages"][0]["identifier"] == project["name"]


def test_variables_named_in_the_registry_entry_are_read_by_the_server(registry):
    from clew.catalog.options import SERVE_OPTIONS

    known = {option.variable for option in SERVE_OPTIONS}
    [package] = registry["packages"]
    assert {variable["name"] for variable in package["environmentVariables"]} <= known


def test_the_bundle_starts_the_server_and_asks_for_the_project(bundle):
    assert bundle["manifest_version"] == "0.4"
    server = bundle["server"]
    assert server["type"] == "uv"
    assert (ROOT / server["entry_point"]).exists()
    assert server["mcp_config"]["args"][-2:] == ["clew", FACES["clew"].serve_command]
    assert server["mcp_config"]["env"] == {"CLEW_PROJECT": "${user_config.project}"}
    assert bundle["user_config"]["project"]["type"] == "directory"
    assert "win32" not in bundle["compatibility"]["platforms"]


def test_tools_named_in_the_bundle_exist(bundle):
    from clew.catalog.selection import offered_name
    from clew.program import all_tools

    assert bundle["tools_generated"] is True
    offered = {offered_name(tool, FACES["clew"]) for tool in all_tools()}
    assert {tool["name"] for tool in bundle.get("tools", [])} <= offered
