"""The hosts Clew registers with. A new host is a new row here, nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hosts.model import Host, Shape, System
from clew.kit.errors import UsageError

_STDIO = {"type": "stdio"}


def _everywhere(*templates: str) -> Mapping[System, tuple[str, ...]]:
    return {"linux": templates, "darwin": templates, "windows": templates}


_TABLE = (
    Host(
        key="claude-code",
        title="Claude Code",
        project_files=("{project}/.mcp.json",),
        user_files=_everywhere("{own}/.claude.json"),
        own_variable="CLAUDE_CONFIG_DIR",
        shape=Shape(first=_STDIO),
        add_command="claude mcp add -s {scope} {name} -- {words}",
        after="Restart Claude Code; /mcp shows the server.",
        after_in_project="Restart Claude Code; it asks once before it trusts a project's servers.",
        programs=("claude",),
        marks=("{home}/.claude", "{own}/.claude.json"),
    ),
    Host(
        key="claude-desktop",
        title="Claude Desktop",
        user_files=_everywhere("{apps}/Claude/claude_desktop_config.json"),
        default_scope="user",
        after="Quit Claude Desktop and open it again.",
        programs=("claude-desktop",),
        marks=("{apps}/Claude",),
        gui=True,
    ),
    Host(
        key="cursor",
        title="Cursor",
        project_files=("{project}/.cursor/mcp.json",),
        user_files=_everywhere("{home}/.cursor/mcp.json"),
        add_command="cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={base64}",
        after="Switch the server on in Cursor's settings, under Tools & MCP.",
        programs=("cursor", "cursor-agent"),
        marks=("{home}/.cursor", "{project}/.cursor"),
        gui=True,
    ),
    Host(
        key="vscode",
        title="VS Code",
        project_files=("{project}/.vscode/mcp.json",),
        user_files=_everywhere("{apps}/Code/User/mcp.json"),
        container=("servers",),
        shape=Shape(first=_STDIO),
        format="jsonc",
        add_command="code --add-mcp {json}",
        after="Start the server in VS Code: MCP: List Servers in the command palette.",
        programs=("code", "code-insiders", "codium"),
        marks=("{apps}/Code", "{project}/.vscode"),
        gui=True,
    ),
    Host(
        key="zed",
        title="Zed",
        project_files=("{project}/.zed/settings.json",),
        user_files={
            "linux": ("{xdg}/zed/settings.json",),
            "darwin": ("{xdg}/zed/settings.json",),
            "windows": ("{apps}/Zed/settings.json",),
        },
        container=("context_servers",),
        shape=Shape(last={"env": {}}),
        format="jsonc",
        default_scope="user",
        after="Zed starts the server immediately; the agent panel's settings show its state.",
        programs=("zed", "zeditor"),
        marks=("{xdg}/zed", "{apps}/Zed", "{project}/.zed"),
        gui=True,
    ),
    Host(
        key="codex",
        title="Codex",
        project_files=("{project}/.codex/config.toml",),
        user_files=_everywhere("{own}/config.toml"),
        own_variable="CODEX_HOME",
        own_default="{home}/.codex",
        container=("mcp_servers",),
        format="toml",
        default_scope="user",
        add_command="codex mcp add {name} -- {words}",
        after="Restart Codex.",
        after_in_project="Restart Codex. The file counts only where Codex trusts the project.",
        programs=("codex",),
        marks=("{own}",),
    ),
    Host(
        key="gemini",
        title="Gemini CLI",
        project_files=("{project}/.gemini/settings.json",),
        user_files=_everywhere("{home}/.gemini/settings.json"),
        default_scope="user",
        add_command="gemini mcp add -s {scope} {name} {words}",
        after="Restart Gemini CLI; /mcp shows the server.",
        programs=("gemini",),
        marks=("{home}/.gemini",),
    ),
    Host(
        key="opencode",
        title="opencode",
        project_files=("{project}/opencode.json", "{project}/opencode.jsonc"),
        user_files=_everywhere("{xdg}/opencode/opencode.json", "{xdg}/opencode/opencode.jsonc"),
        container=("mcp",),
        shape=Shape(
            first={"type": "local"}, last={"enabled": True}, joined=True, env_key="environment"
        ),
        format="jsonc",
        add_command="opencode mcp add",
        after="Restart opencode.",
        programs=("opencode",),
        marks=("{xdg}/opencode",),
    ),
    Host(
        key="copilot",
        title="Copilot CLI",
        project_files=("{project}/.github/mcp.json",),
        user_files=_everywhere("{own}/mcp-config.json"),
        own_variable="COPILOT_HOME",
        own_default="{home}/.copilot",
        shape=Shape(first={"type": "local"}, last={"tools": ["*"]}),
        default_scope="user",
        add_command="/mcp add   (inside a Copilot CLI session)",
        after="Restart Copilot CLI; /mcp show lists the server.",
        programs=("copilot",),
        marks=("{own}",),
    ),
)

HOSTS: dict[str, Host] = {host.key: host for host in _TABLE}


def find_host(key: str) -> Host:
    """The host of this name; an unknown name raises with the names there are."""
    if key not in HOSTS:
        raise UsageError(f"No such host: {key}", f"Hosts: {', '.join(HOSTS)}.")
    return HOSTS[key]
