"""How each program is pointed at the scripted service, as its user would do it."""

from __future__ import annotations

import json
import tomllib

_KEY = "sk-dummy"
# The settings of Clew name a model only where the agent cannot do without one.
MODELS = {"openai": "gpt-4.1", "ollama": "llama3", "aider": "openai/gpt-4o"}


def set_up(name, home, url):
    """Write the program's settings below its home; the environment that it needs."""
    files, environment = _SETUPS[name](url)
    for file, text in files.items():
        path = home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return environment


def _claude(url):
    return {}, {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": f"sk-ant-{_KEY}",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "DISABLE_AUTOUPDATER": "1",
    }


def _codex(url):
    text = f"""model = "gpt-5-codex"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1
"""
    assert tomllib.loads(text)
    return {".codex/config.toml": text}, {"SCRIPTED_KEY": _KEY}


def _opencode(url):
    model = {
        "name": "Scripted 1",
        "tool_call": True,
        "cost": {"input": 1, "output": 2},
        "limit": {"context": 200_000, "output": 8_000},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": _KEY},
        "models": {"scripted-1": model},
    }
    settings = {
        "model": "scripted/scripted-1",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"scripted": provider},
    }
    environment = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    return {".config/opencode/opencode.json": json.dumps(settings)}, environment


def _gemini(url):
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True, "maxAttempts": 2},
    }
    environment = {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy"}
    return {".gemini/settings.json": json.dumps(settings)}, environment


def _copilot(url):
    return {}, {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": _KEY,
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }


def _qwen(url):
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"disableAutoUpdate": True},
        "model": {"name": "scripted-1", "generationConfig": {"maxRetries": 1}},
    }
    environment = {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": _KEY,
        "OPENAI_MODEL": "scripted-1",
    }
    return {".qwen/settings.json": json.dumps(settings)}, environment


def _aider(url):
    settings = "analytics-disable: true\nshow-model-warnings: false\n"
    return {".aider.conf.yml": settings}, {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": _KEY}


def _openai(url):
    return {}, {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": _KEY}


def _ollama(url):
    return {}, {"OLLAMA_HOST": url}


_SETUPS = {
    "claude": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
    "copilot": _copilot,
    "qwen": _qwen,
    "aider": _aider,
    "openai": _openai,
    "ollama": _ollama,
}
AGENTS = tuple(_SETUPS)
