"""Putting a server together: a face's tools, the kernel, and a transport."""

from __future__ import annotations

import sys

from clew.catalog.registry import select_tools
from clew.catalog.service import CatalogService
from clew.kit.errors import ClewError
from clew.protocol.kernel import Kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.catalog.faces import Face
    from clew.protocol.tasks import TaskDesk


def build_kernel(face: Face, options: Mapping[str, str]) -> Kernel:
    """The kernel that serves what these options select."""
    offered = select_tools(face, options)
    service = CatalogService(face, offered, options)
    slow = any(tool.slow for tool in offered.values())
    return Kernel(service, secret=_secret, tasks=_open_tasks if slow else None)


def serve_stdio(face: Face, options: Mapping[str, str]) -> int:
    """Serve standard input and output; the exit code."""
    try:
        kernel = build_kernel(face, options)
    except ClewError as error:
        print(f"{face.name}: {error.full_text()}", file=sys.stderr)
        return error.exit_code
    from clew.protocol.stdio import serve

    return serve(kernel)


def _secret() -> bytes:
    from clew.kit.secret import load_secret

    return load_secret("state")


def _open_tasks(kernel: Kernel) -> TaskDesk:
    from clew.kit.project import clew_home
    from clew.protocol.tasks import TaskDesk
    from clew.protocol.taskstore import TaskStore

    return TaskDesk(kernel, TaskStore(clew_home() / "tasks"))
