"""The lists: tools, prompts, resources, templates. One page each, in a fixed order."""

from __future__ import annotations

from clew.protocol.errors import invalid_params

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.protocol.kernel.exchange import Exchange
    from clew.protocol.kernel.kernel import Kernel


def list_tools(exchange: Exchange, kernel: Kernel) -> None:
    """All tools."""
    _reply_list(exchange, "tools", kernel.service.tools(), kernel)


def list_prompts(exchange: Exchange, kernel: Kernel) -> None:
    """All prompts."""
    _reply_list(exchange, "prompts", kernel.service.prompts(), kernel)


def list_resources(exchange: Exchange, kernel: Kernel) -> None:
    """All resources."""
    _reply_list(exchange, "resources", kernel.service.resources(), kernel)


def list_templates(exchange: Exchange, kernel: Kernel) -> None:
    """All resource templates."""
    _reply_list(exchange, "resourceTemplates", kernel.service.resource_templates(), kernel)


def _reply_list(exchange: Exchange, key: str, items: list[JsonObject], kernel: Kernel) -> None:
    if exchange.request.params.get("cursor") is not None:
        raise invalid_params("Invalid params: unknown cursor")
    result: JsonObject = {key: items}
    if exchange.request.modern:
        result |= {"ttlMs": kernel.service.list_ttl_ms, "cacheScope": "public"}
    exchange.reply(result)
