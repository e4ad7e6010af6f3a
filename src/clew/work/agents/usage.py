"""What an agent used, in tokens and in dollars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_MILLION = 1_000_000
_MOST = 10**15  # more than this, or no number at all, is an error of the agent


@dataclass(frozen=True)
class Tokens:
    """Tokens that went in and came out; those read from a cache are among the former."""

    input: int = 0
    output: int = 0
    cached: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """Both together."""
        return Tokens(
            self.input + other.input, self.output + other.output, self.cached + other.cached
        )

    def shown(self) -> str:
        """The numbers for people."""
        cached = f" ({self.cached} cached)" if self.cached else ""
        return f"tokens {self.input} in{cached}, {self.output} out"

    @classmethod
    def of_claude(cls, usage: Any) -> Tokens | None:
        """From the common stream: a cache counts apart, unless a total is told."""
        if not isinstance(usage, dict):
            return None
        cached, made = (_whole(usage, f"cache_{how}_input_tokens") for how in ("read", "creation"))
        plain, output = _whole(usage, "input_tokens"), _whole(usage, "output_tokens")
        apart = 0 if "total_tokens" in usage else cached + made
        return cls(plain + apart, output, cached)

    @classmethod
    def of_codex(cls, usage: Any) -> Tokens | None:
        """From the end of a turn of Codex."""
        if not isinstance(usage, dict):
            return None
        names = ("input_tokens", "output_tokens", "cached_input_tokens")
        return cls(*(_whole(usage, name) for name in names))

    @classmethod
    def of_gemini(cls, stats: Any) -> Tokens | None:
        """From the statistics of Gemini CLI."""
        if not isinstance(stats, dict) or not stats:
            return None
        return cls(*(_whole(stats, name) for name in ("input_tokens", "output_tokens", "cached")))

    @classmethod
    def of_opencode(cls, tokens: Any) -> Tokens | None:
        """From a step of opencode, where reasoning and a cache count apart."""
        if not isinstance(tokens, dict):
            return None
        cache = tokens.get("cache")
        cache = cache if isinstance(cache, dict) else {}
        read, written = _whole(cache, "read"), _whole(cache, "write")
        output = _whole(tokens, "output") + _whole(tokens, "reasoning")
        return cls(_whole(tokens, "input") + read + written, output, read)


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None

    def of(self, tokens: Tokens) -> float:
        """What so many tokens cost."""
        fresh = max(0, tokens.input - tokens.cached)
        cached = self.input if self.cached is None else self.cached
        total = fresh * self.input + tokens.cached * cached + tokens.output * self.output
        return total / _MILLION


@dataclass(frozen=True)
class Prices:
    """The user's price table, by model; `usual` are names to look for where no model is told."""

    by_name: dict[str, Price]
    usual: tuple[str, ...] = ()

    def cost(self, tokens: Tokens, model: str | None) -> float | None:
        """What so many tokens of a model cost; None where the table does not say."""
        names = (model, *self.usual) if model else self.usual
        price = next((self.by_name[name] for name in names if name in self.by_name), None)
        return None if price is None else price.of(tokens)


def _whole(mapping: dict[str, Any], name: str) -> int:
    value = mapping.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0
    return max(0, round(value)) if abs(value) < _MOST else 0
