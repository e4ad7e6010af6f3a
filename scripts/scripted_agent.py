"""A worker without a model, for `make try`: writes what a spec asks for, tests it, commits it.

It does what a coding agent does, through the same doors: the spec is named in its environment, the
worktree is its working directory, and boxes are checked with `chant check`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PRODUCTS = '''"""The products of a shop."""

prices: dict[str, int] = {}


def add_product(name: str, cents: int) -> None:
    """Offer a product at a price in cents."""
    if not name or cents < 0:
        raise ValueError(f"no product has the name {name!r} and the price {cents}")
    prices[name] = cents
'''
CART = '''"""What a customer wants to buy."""


def total(prices: dict[str, int], wanted: list[str]) -> int:
    """The price of everything in the cart, in cents."""
    missing = [name for name in wanted if name not in prices]
    if missing:
        raise ValueError(f"not in this shop: {', '.join(missing)}")
    return sum(prices[name] for name in wanted)
'''
TESTS = {
    "products": "from products import add_product, prices\n\n"
    "add_product('tea', 350)\nassert prices == {'tea': 350}\n"
    "try:\n    add_product('', -1)\nexcept ValueError as error:\n    assert 'price' in str(error)\n",
    "cart": "from cart import total\n\nassert total({'tea': 350}, ['tea', 'tea']) == 700\n"
    "try:\n    total({}, ['tea'])\nexcept ValueError as error:\n    assert 'tea' in str(error)\n",
}


def main() -> int:
    """Work on the one spec that the environment names."""
    spec_id = os.environ["CHANT_SPEC_ID"]
    text = Path(os.environ["CHANT_SPEC_FILE"]).read_text(encoding="utf-8")
    title = text.split("\n# ", 1)[1].split("\n", 1)[0]
    name = "cart" if "cart" in title else "products"
    print(f"Working on: {title}", flush=True)
    Path(f"{name}.py").write_text(CART if name == "cart" else PRODUCTS, encoding="utf-8")
    Path(f"test_{name}.py").write_text(TESTS[name], encoding="utf-8")
    subprocess.run([sys.executable, f"test_{name}.py"], check=True)
    subprocess.run(["git", "add", f"{name}.py", f"test_{name}.py"], check=True)
    subprocess.run(["git", "commit", "--quiet", "-m", f"chant({spec_id}): {title}"], check=True)
    for number in range(1, text.count("- [ ]") + 1):
        evidence = f"python test_{name}.py passed"
        words = ["chant", "check", spec_id, str(number), "--evidence", evidence]
        subprocess.run(words, check=True)
    print("Done.", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
