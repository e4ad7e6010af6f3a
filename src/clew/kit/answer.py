"""What a tool answers: text for people and models, data for programs."""

from __future__ import annotations

from clew.kit import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject


class Answer:
    """The outcome of one tool call: text, structured data, or other content blocks."""

    __slots__ = ("content", "data", "is_error", "mirrors", "text")

    def __init__(
        self,
        text: str = "",
        *,
        data: object = None,
        content: list[JsonObject] | None = None,
        is_error: bool = False,
    ) -> None:
        self.text = text
        self.data = data
        self.content = content
        self.is_error = is_error
        self.mirrors = False

    @classmethod
    def of(cls, data: object) -> Answer:
        """An answer whose text is the data's JSON."""
        answer = cls(jsontext.dumps(data), data=data)
        answer.mirrors = True
        return answer

    @classmethod
    def indented(cls, data: object) -> Answer:
        """An answer whose text is the data's JSON over several lines."""
        return cls(jsontext.pretty(data), data=data)

    @classmethod
    def error(cls, text: str, *, data: object = None) -> Answer:
        """An answer that tells the caller what went wrong and what to do."""
        return cls(text, data=data, is_error=True)

    def structured(self) -> JsonObject | None:
        """The data as an object; other values are wrapped under `result`, as schemas demand."""
        if self.data is None:
            return None
        return self.data if isinstance(self.data, dict) else {"result": self.data}

    def structured_text(self) -> str | None:
        """The JSON of the structured data where the text has it already, else None."""
        if not self.mirrors:
            return None
        return self.text if isinstance(self.data, dict) else f'{{"result":{self.text}}}'
