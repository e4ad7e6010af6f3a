"""Every tool of the catalogue at once: the longest list that a server gives."""

import sys

from clew.catalog.faces import FACES
from clew.catalog.selection import select_tools
from clew.catalog.service import CatalogService
from clew.program import all_tools
from clew.protocol.kernel.kernel import Kernel
from clew.protocol.stdio.server import serve

if __name__ == "__main__":
    face = FACES["clew"]
    offered = select_tools(face, {"toolsets": "all"}, all_tools())
    sys.exit(serve(Kernel(CatalogService(face, offered))))
