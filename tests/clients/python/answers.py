"""What the demo agent answers, as Microsoft's client shows it.

The client has no word for reasoning, state and token counts: it drops those events, so they must leave no
trace in what it shows.
"""

import json

from agent_framework import ChatResponse, Content

Part = tuple
"""A content without its ids: `("text", …)`, `("call", name, arguments)`, `("result", …)`, `("error", …)`."""

WEATHER_ARGS = '{"city":"Paris"}'
_TIME_ARGS = '{"zone":"UTC"}'
_WEATHER = [
    ("assistant", [("call", "get_weather", WEATHER_ARGS)]),
    ("tool", [("result", '{"celsius":18,"sky":"clear"}')]),
]


def _says(text: str) -> tuple[str, list[Part]]:
    return ("assistant", [("text", text)])


def _fails(why: str) -> tuple[str, list[Part]]:
    return ("assistant", [("text", f"The run failed: {why}."), ("error", why)])


ANSWERS: dict[str, list[tuple[str, list[Part]]]] = {
    "say hello": [_says("Hello! I am the demo agent. What shall I do?")],
    "say two things": [_says("This is the first message."), _says("This is the second message.")],
    "say nothing": [],
    "think first": [_says("I have thought about it.")],
    "use a tool": [*_WEATHER, _says("It is 18 degrees in Paris.")],
    "use a tool that fails": [
        ("assistant", [("call", "get_weather", '{"city":"Atlantis"}')]),
        ("tool", [("result", "no such city")]),
        _says("I could not find out."),
    ],
    "call a tool without arguments": [
        ("assistant", [("call", "get_time", "{}")]),
        ("tool", [("result", "12:00")]),
        _says("It is noon."),
    ],
    "text, tool, text": [
        (
            "assistant",
            [("text", "First I look at the weather."), ("call", "get_weather", WEATHER_ARGS)],
        ),
        _WEATHER[1],
        ("assistant", [("text", "Now I look at the clock."), ("call", "get_time", _TIME_ARGS)]),
        ("tool", [("result", "12:00")]),
        _says("It is noon in Paris, and 18 degrees."),
    ],
    "report usage": [_says("I count my tokens.")],
}
"""The messages by what was asked, for runs that end well."""

FAILURES: dict[str, list[tuple[str, list[Part]]]] = {
    "fail half-way": [
        _says("This will not end well, because"),
        _fails("the demo failed half-way, as it was asked to"),
    ],
    "fail at once": [_fails("the demo failed at once, as it was asked to")],
    "panic": [_says("Now I panic."), _fails("the run broke inside the daemon")],
}
"""The messages by what was asked, for runs that fail: the last one says why, and has the error."""


def two_tools(first_args: str) -> list[tuple[str, list[Part]]]:
    """The answer to `use two tools at once`, with what the client has of the first call's arguments."""
    calls = [("call", "get_weather", first_args), ("call", "get_time", _TIME_ARGS)]
    results = [("result", "12:00"), ("result", '{"celsius":18,"sky":"clear"}')]
    return [("assistant", calls), ("tool", results), _says("It is noon in Paris, and 18 degrees.")]


def outline(response: ChatResponse) -> list[tuple[str, list[Part]]]:
    """The messages of a response, each as its role and parts, after a look at the ids."""
    ids = [message.message_id for message in response.messages if message.message_id]
    assert len(set(ids)) == len(ids), f"message ids are unique: {ids}"
    contents = [content for message in response.messages for content in message.contents]
    calls = [content.call_id for content in contents if content.type == "function_call"]
    results = [content.call_id for content in contents if content.type == "function_result"]
    assert len(set(calls)) == len(calls), f"call ids are unique: {calls}"
    assert sorted(calls) == sorted(results), f"each call has its result: {calls}, {results}"
    return [(m.role, [_part(content) for content in m.contents]) for m in response.messages]


def _part(content: Content) -> Part:
    match content.type:
        case "text":
            return ("text", content.text)
        case "function_call":
            json.loads(content.arguments or "{}")
            return ("call", content.name, content.arguments)
        case "function_result":
            return ("result", content.result)
        case "error":
            return ("error", content.message)
        case other:
            raise AssertionError(f"a content of type {other}: {content!r}")
