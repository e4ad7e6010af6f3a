"""The hosts Clew registers with. A new host is a new row here, nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hosts.model import Capture, Host, Shape, System
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
        after_in_project=(
            "Start `claude` in the project and approve the server; it is not used before that."
        ),
        programs=("claude",),
        marks=("{home}/.claude", "{own}/.claude.json"),
        capture=Capture("{config}/settings.json", ("hooks", "Stop")),
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
        after_in_project=(
            "Start `codex` in the project and trust it when asked. Codex ignores the file of a project "
            "that it does not trust; `codex mcp list` then does not show the server."
        ),
        programs=("codex",),
        marks=("{own}",),
        capture=Capture("{own}/config.toml", ("notify",), format="toml", line_member=None),
    ),
    Host(
        key="gemini",
        title="Gemini CLI",
        project_files=("{project}/.gemini/settings.json",),
        user_files=_everywhere("{home}/.gemini/settings.json"),
        default_scope="user",
        add_command="gemini mcp add -s {scope} {name} {words}",
        after=(
            "Start `gemini` in the project, trust the folder (/permissions trust), and restart it; /mcp "
            "shows the server. In a folder that it does not trust, Gemini CLI starts no servers at all."
        ),
        programs=("gemini",),
        marks=("{home}/.gemini",),
        capture=Capture("{home}/.gemini/settings.json", ("hooks", "SessionEnd")),
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
        add_command="opencode mcp add {name} -- {words}",
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
        add_command="copilot mcp add {name} -- {words}",
        after="Restart Copilot CLI; `copilot mcp list` shows the server.",
        after_in_project=(
            "Start `copilot` in the project and trust the folder when asked. In a folder that it does "
            "not trust, Copilot CLI does not read the file; `copilot mcp list` shows what it reads."
        ),
        programs=("copilot",),
        marks=("{own}",),
        capture=Capture(
            "{own}/hooks/clew.json",
            ("hooks", "sessionEnd"),
            line_member="bash",
            is_nested=False,
            version=1,
        ),
    ),
    Host(
        key="qwen",
        title="Qwen Code",
        project_files=("{project}/.qwen/settings.json",),
        user_files=_everywhere("{own}/settings.json"),
        own_variable="QWEN_HOME",
        own_default="{home}/.qwen",
        default_scope="user",
        add_command="qwen mcp add -s {scope} {name} {words}",
        after="Restart Qwen Code; `qwen mcp list` shows the server.",
        after_in_project=(
            "Run `qwen mcp approve {name}` in the project, then restart Qwen Code. Until then "
            "`qwen mcp list` shows the server as pending approval, and it is not used."
        ),
        programs=("qwen",),
        marks=("{own}",),
        capture=Capture("{own}/settings.json", ("hooks", "Stop")),
    ),
)

HOSTS: dict[str, Host] = {host.key: host for host in _TABLE}


def find_host(key: str) -> Host:
    """The host of this name; an unknown name raises with the names there are."""
    if key not in HOSTS:
        raise UsageError(f"No such host: {key}", f"Hosts: {', '.join(HOSTS)}.")
    return HOSTS[key]
