"""Who wants to hear of changes: modern listen streams and legacy connections."""

from __future__ import annotations

from _thread import allocate_lock

from clew.protocol.errors import RpcError
from clew.protocol.versions import INTERNAL_ERROR, META_SUBSCRIPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.protocol.kernel.connection import Connection
    from clew.protocol.kernel.exchange import Exchange

_MOST_STREAMS = 1000
LIST_KINDS = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}


class Subscriptions:
    """Open streams, and the connections that get list changes without asking."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._streams: dict[Exchange, JsonObject] = {}
        self._legacy: list[Connection] = []

    def welcome(self, connection: Connection) -> None:
        """A legacy peer finished its handshake: it hears of list changes from now on."""
        with self._lock:
            self._legacy = [peer for peer in self._legacy if not peer.closed]
            if connection not in self._legacy:
                self._legacy.append(connection)

    def open(self, exchange: Exchange, wanted: JsonObject) -> None:
        """Acknowledge a stream, then keep it open until cancelled or closed."""
        with self._lock:
            if len(self._streams) >= _MOST_STREAMS:
                raise RpcError(INTERNAL_ERROR, "Too many open streams")
            # Under the lock, so that no change can be sent before the acknowledgement.
            self._notify(
                exchange, "notifications/subscriptions/acknowledged", {"notifications": wanted}
            )
            self._streams[exchange] = wanted
        exchange.call.on_cancel(lambda: self._forget(exchange))
        if exchange.connection.closed:
            self.close_all(exchange.connection)

    def announce(self, kind: str, uri: str | None = None) -> None:
        """Tell everybody who asked: a list changed, or with `uri` one resource."""
        if uri is None:
            method, params = f"notifications/{kind}/list_changed", {}
        else:
            method, params = "notifications/resources/updated", {"uri": uri}
        with self._lock:
            streams = [
                exchange for exchange, wanted in self._streams.items() if _wants(wanted, kind, uri)
            ]
            peers = [peer for peer in self._legacy if not peer.closed]
        for exchange in streams:
            self._notify(exchange, method, params)
        for peer in peers:
            if uri is None or uri in peer.subscribed:
                peer.send(
                    {"jsonrpc": "2.0", "method": method, **({"params": params} if uri else {})}
                )

    def announce_task(self, task: JsonObject) -> None:
        """Tell the streams that follow this task its whole state."""
        with self._lock:
            streams = [
                exchange
                for exchange, wanted in self._streams.items()
                if task["taskId"] in wanted.get("taskIds", ())
            ]
        for exchange in streams:
            self._notify(exchange, "notifications/tasks", task)

    def close_all(self, connection: Connection | None = None) -> None:
        """End streams gracefully: all of them, or those of one connection."""
        with self._lock:
            ending = [e for e in self._streams if connection in (None, e.connection)]
            for exchange in ending:
                del self._streams[exchange]
        for exchange in ending:
            exchange.reply({"_meta": {META_SUBSCRIPTION: exchange.request.id}})

    def _forget(self, exchange: Exchange) -> None:
        with self._lock:
            self._streams.pop(exchange, None)
        exchange.drop()

    @staticmethod
    def _notify(exchange: Exchange, method: str, params: JsonObject) -> None:
        exchange.notify(method, {**params, "_meta": {META_SUBSCRIPTION: exchange.request.id}})


def _wants(wanted: JsonObject, kind: str, uri: str | None) -> bool:
    if uri is not None:
        return uri in wanted.get("resourceSubscriptions", ())
    return bool(wanted.get(LIST_KINDS[kind]))
