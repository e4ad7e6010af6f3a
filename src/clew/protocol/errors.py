"""Protocol errors: what becomes a JSON-RPC error object."""

from __future__ import annotations

from clew.protocol.versions import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject


class RpcError(Exception):
    """A request that cannot be served, with its JSON-RPC code."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def wire(self) -> JsonObject:
        """The error object of a response."""
        error: JsonObject = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


def invalid_request(reason: str) -> RpcError:
    """The message is not a request this server can read."""
    return RpcError(INVALID_REQUEST, reason)


def method_not_found(method: str) -> RpcError:
    """Nobody here serves this method."""
    return RpcError(METHOD_NOT_FOUND, "Method not found", {"method": method[:200]})


def invalid_params(reason: str) -> RpcError:
    """The method's parameters are wrong."""
    return RpcError(INVALID_PARAMS, reason)


def missing_capability(capabilities: JsonObject) -> RpcError:
    """The client did not declare what this request needs."""
    names = ", ".join(capabilities)
    return RpcError(
        MISSING_CAPABILITY,
        f"Missing required client capability: {names}",
        {"requiredCapabilities": capabilities},
    )


def unsupported_version(requested: object, supported: tuple[str, ...]) -> RpcError:
    """The client asked for a protocol version that is not served."""
    return RpcError(
        UNSUPPORTED_VERSION,
        "Unsupported protocol version",
        {"supported": list(supported), "requested": requested},
    )
