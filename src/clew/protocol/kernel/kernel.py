"""The kernel: takes one message, serves it in the dialect it came in, sends what follows.

It knows nothing of transports (they hand it messages and a way back) and nothing of tools
(a service answers for those).
"""

from __future__ import annotations

import sys
from _thread import allocate_lock

from clew.kit import jsontext
from clew.kit.errors import ClewError
from clew.protocol.errors import RpcError, invalid_request, method_not_found
from clew.protocol.kernel import dialect, methods
from clew.protocol.kernel.exchange import Exchange, error_response, read_request, usable_id
from clew.protocol.kernel.subscriptions import Subscriptions
from clew.protocol.versions import BATCHING_VERSION, INTERNAL_ERROR, PARSE_ERROR
from clew.protocol.workers import Workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.kit.jsontext import JsonObject
    from clew.protocol.kernel.connection import Connection, RequestId, Send
    from clew.protocol.kernel.seal import Seal
    from clew.protocol.kernel.tasks import TaskDesk
    from clew.protocol.service import Service

    Runner = Callable[[Callable[[], None]], bool]


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Kernel:
    """Serves one service to any number of connections."""

    def __init__(
        self,
        service: Service,
        *,
        secret: Callable[[], bytes] | None = None,
        tasks: Callable[[Kernel], TaskDesk] | None = None,
    ) -> None:
        self.service = service
        self.workers = Workers()
        # Lists, tasks and streams never wait for the slow calls that they may be asked about.
        self._side_workers = Workers(threads=4)
        self._lock = allocate_lock()
        self.subscriptions = Subscriptions()
        self._secret = secret
        self._seal: Seal | None = None
        self._make_tasks = tasks
        self._tasks: TaskDesk | None = None
        service.announce = self.subscriptions.announce

    def seal(self) -> Seal:
        """The seal for state that clients carry, made when first needed."""
        with self._lock:
            if self._seal is None:
                import secrets

                from clew.protocol.kernel.seal import Seal

                self._seal = Seal(self._secret() if self._secret else secrets.token_bytes(32))
            return self._seal

    @property
    def has_tasks(self) -> bool:
        """Whether slow calls may become tasks."""
        return self._make_tasks is not None

    def tasks(self) -> TaskDesk:
        """The desk that keeps tasks, opened when first needed."""
        with self._lock:
            if self._tasks is None:
                assert self._make_tasks is not None
                self._tasks = self._make_tasks(self)
            return self._tasks

    def receive(
        self, data: bytes, connection: Connection, send: Send, run: Runner | None = None
    ) -> None:
        """Serve one message as it came over the wire."""
        try:
            message = jsontext.loads_bytes(data.removeprefix(_BYTE_ORDER_MARK))
        except jsontext.JsonError as error:
            send(error_response(None, RpcError(PARSE_ERROR, f"Parse error: {error}")))
            return
        self.handle(message, connection, send, run=run)

    def handle(
        self,
        message: object,
        connection: Connection,
        send: Send,
        on_end: Callable[[], None] | None = None,
        run: Runner | None = None,
    ) -> None:
        """Serve one parsed message; answers follow through `send`, maybe from other threads.

        `run` is how a call that may take long is run: by the workers unless a transport has
        a better way.
        """
        if isinstance(message, list):
            self._handle_batch(message, connection, send, on_end)
        elif not isinstance(message, dict):
            _refuse(None, invalid_request("Invalid request: not an object"), send, on_end)
        elif "method" not in message and ("result" in message or "error" in message):
            connection.answer(message)
        elif "id" not in message and isinstance(message.get("method"), str):
            if message.get("jsonrpc") == "2.0":
                methods.take_notification(message, connection)
        else:
            self._serve(message, connection, send, on_end, run)

    def _serve(
        self,
        message: JsonObject,
        connection: Connection,
        send: Send,
        on_end: Callable[[], None] | None,
        run: Runner | None,
    ) -> None:
        try:
            request = read_request(message, connection, self.service.wrong_version)
        except RpcError as error:
            _refuse(usable_id(message), error, send, on_end)
            return
        exchange = Exchange(request, connection, send, self.service, on_end)
        if not connection.begin(request.id, exchange.call):
            _refuse(request.id, invalid_request("Invalid request: id is in use"), send, on_end)
            return
        method = methods.find_method(request, self)
        if method is None:
            exchange.fail(method_not_found(request.method))
        elif method.quick:
            self._run(exchange, method.serve)
        elif not self._submit(
            lambda: self._run(exchange, method.serve),
            connection.client,
            self._side_workers.submit if method.brief else run,
        ):
            exchange.fail(RpcError(INTERNAL_ERROR, "Server is busy: too many calls are waiting"))

    def _submit(self, job: Callable[[], None], client: str, run: Runner | None) -> bool:
        return run(job) if run is not None else self.workers.submit(job, client)

    def _run(self, exchange: Exchange, serve: Callable[[Exchange, Kernel], None]) -> None:
        if exchange.call.cancelled:
            exchange.drop()
            return
        try:
            serve(exchange, self)
        except RpcError as error:
            exchange.fail(error)
        except ClewError as error:
            exchange.fail(RpcError(INTERNAL_ERROR, error.full_text()))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a bug must not end the server
            report_bug(error)
            exchange.fail(RpcError(INTERNAL_ERROR, "Internal error"))

    def _handle_batch(
        self,
        batch: list[object],
        connection: Connection,
        send: Send,
        on_end: Callable[[], None] | None,
    ) -> None:
        if connection.version != BATCHING_VERSION or not connection.initialized:
            reason = "Invalid request: this protocol version has no batches"
            _refuse(None, invalid_request(reason), send, on_end)
        elif not batch:
            _refuse(None, invalid_request("Invalid request: empty batch"), send, on_end)
        else:
            dialect.Batch(batch, send, on_end).run(
                lambda item, reply, ended: self.handle(item, connection, reply, ended)
            )

    def end_streams(self, connection: Connection) -> None:
        """After a peer's last message: nothing more will change for it."""
        self.subscriptions.close_all(connection)


def _refuse(
    request_id: RequestId | None,
    error: RpcError,
    send: Send,
    on_end: Callable[[], None] | None,
) -> None:
    send(error_response(request_id, error))
    if on_end is not None:
        on_end()


def report_bug(error: BaseException) -> None:
    """Tell the operator, on standard error, what no client should see."""
    import traceback

    traceback.print_exception(error, file=sys.stderr)
