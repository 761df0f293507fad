"""Streams that AG-UI forbids, each made of a good one, and the rule of `ag-ui-validate` that says so."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from recording import body_of

Events = list[dict]


@dataclass(frozen=True)
class Broken:
    """A way to break the stream of a run that has texts and tool calls."""

    name: str
    rule: str
    edit: Callable[[Events], bytes]


def _without(kind: str) -> Callable[[Events], bytes]:
    """Without the first event of the kind."""
    return lambda events: body_of(_cut(events, _index(events, kind)))


def _with_last(kind: str, changes: dict) -> Callable[[Events], bytes]:
    """With another last event of the kind."""

    def edit(events: Events) -> bytes:
        last = len(events) - 1 - _index(events[::-1], kind)
        return body_of([*events[:last], events[last] | changes, *events[last + 1 :]])

    return edit


def _with_first_again(kind: str) -> Callable[[Events], bytes]:
    """With the first event of the kind twice in a row."""

    def edit(events: Events) -> bytes:
        first = _index(events, kind)
        return body_of([*events[: first + 1], *events[first:]])

    return edit


def _with_bytes(pattern: bytes, replacement: bytes) -> Callable[[Events], bytes]:
    """With something else for the first match in the body."""
    return lambda events: re.sub(pattern, replacement, body_of(events), count=1, flags=re.DOTALL)


def _index(events: Events, kind: str) -> int:
    return next(index for index, event in enumerate(events) if event["type"] == kind)


def _cut(events: Events, index: int) -> Events:
    return events[:index] + events[index + 1 :]


_BAD_PATCH = {"delta": [{"op": "replace", "path": "/nowhere", "value": 1}]}

BROKEN = [
    Broken("run-without-start", "AGUI001", _without("RUN_STARTED")),
    Broken("run-started-twice", "AGUI002", _with_first_again("RUN_STARTED")),
    Broken("run-without-end", "AGUI003", _without("RUN_FINISHED")),
    Broken("event-after-the-end", "AGUI004", lambda events: body_of([*events, events[1]])),
    Broken("text-without-start", "AGUI101", _without("TEXT_MESSAGE_START")),
    Broken("text-without-end", "AGUI103", _without("TEXT_MESSAGE_END")),
    Broken("empty-text", "AGUI105", _with_last("TEXT_MESSAGE_CONTENT", {"delta": ""})),
    Broken("call-without-start", "AGUI202", _without("TOOL_CALL_START")),
    Broken("call-without-end", "AGUI203", _without("TOOL_CALL_END")),
    Broken("arguments-cut-short", "AGUI204", _with_last("TOOL_CALL_ARGS", {"delta": "{"})),
    Broken("result-of-no-call", "AGUI207", _with_last("TOOL_CALL_RESULT", {"toolCallId": "other"})),
    Broken("patch-of-nothing", "AGUI302", _with_last("STATE_DELTA", _BAD_PATCH)),
    Broken("line-that-is-not-data", "AGUI501", _with_bytes(rb"\ndata: ", rb"\n")),
    Broken("last-frame-cut-off", "AGUI501", _with_bytes(rb"\n\n$", rb"")),
    Broken("data-that-is-not-json", "AGUI502", _with_bytes(rb"\ndata: \{", rb"\ndata: ")),
    Broken("unknown-event", "AGUI503", _with_last("STATE_DELTA", {"type": "STATE_PATCH"})),
    Broken("result-that-is-null", "AGUI504", _with_last("TOOL_CALL_RESULT", {"content": None})),
]
