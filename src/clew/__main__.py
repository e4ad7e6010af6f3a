"""`python -m clew` is `clew`."""

import sys

from clew.faces import clew

sys.exit(clew())
