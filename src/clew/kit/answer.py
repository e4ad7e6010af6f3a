"""What a tool answers: text for people and models, data for programs."""

from __future__ import annotations

from clew.kit import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.kit.jsontext import JsonObject


class Piece:
    """One element of an answer that is a list, with its JSON as it is sent, a comma before it."""

    __slots__ = ("compact", "data", "indented", "quoted")

    def __init__(self, data: object) -> None:
        self.data = data
        self.indented = ",\n  " + jsontext.pretty(data).replace("\n", "\n  ")
        self.quoted = jsontext.dumps_bytes(self.indented)[1:-1]
        self.compact = b"," + jsontext.dumps_bytes(data)


class Answer:
    """The outcome of one tool call: text, structured data, or other content blocks."""

    __slots__ = ("content", "data", "is_error", "known_json", "text")

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
        self.known_json: dict[str, list[bytes]] = {}  # members of the result that are JSON already

    @classmethod
    def of(cls, data: object) -> Answer:
        """An answer whose text is the data's JSON."""
        text = jsontext.dumps(data)
        answer = cls(text, data=data)
        structured = text if isinstance(data, dict) else f'{{"result":{text}}}'
        try:
            answer.known_json = {"structuredContent": [structured.encode()]}
        except UnicodeEncodeError:  # a lone surrogate; whoever sends it explains
            answer.known_json = {}
        return answer

    @classmethod
    def indented(cls, data: object) -> Answer:
        """An answer whose text is the data's JSON over several lines."""
        return cls(jsontext.pretty(data), data=data)

    @classmethod
    def listed(cls, pieces: Sequence[Piece]) -> Answer:
        """The indented answer whose data are those of the pieces, put together from their JSON."""
        if not pieces:
            return cls.indented([])
        first, rest = pieces[0], pieces[1:]
        text = "".join(["[", first.indented[1:], *[piece.indented for piece in rest], "\n]"])
        answer = cls(text, data=[piece.data for piece in pieces])
        quoted = [first.quoted[1:], *[piece.quoted for piece in rest]]
        compact = [first.compact[1:], *[piece.compact for piece in rest]]
        # In one step when it is sent: every copy of a long answer costs more than its making.
        answer.known_json = {
            "content": [b'[{"type":"text","text":"[', *quoted, b'\\n]"}]'],
            "structuredContent": [b'{"result":[', *compact, b"]}"],
        }
        return answer

    @classmethod
    def error(cls, text: str, *, data: object = None) -> Answer:
        """An answer that tells the caller what went wrong and what to do."""
        return cls(text, data=data, is_error=True)

    def structured(self) -> JsonObject | None:
        """The data as an object; other values are wrapped under `result`, as schemas demand."""
        if self.data is None:
            return None
        return self.data if isinstance(self.data, dict) else {"result": self.data}
