"""Every declared tool, whether its room is built or not: what the finished program will list."""

import sys

from clew.catalog.faces import FACES
from clew.catalog.registry import TOOLS, select_tools
from clew.catalog.service import CatalogService
from clew.protocol.kernel import Kernel
from clew.protocol.stdio import serve

if __name__ == "__main__":
    face = FACES["clew"]
    offered = select_tools(face, {"toolsets": "all"}, TOOLS)
    sys.exit(serve(Kernel(CatalogService(face, offered))))
