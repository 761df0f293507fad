"""Drives the demo agent with Microsoft's `AGUIChatClient`, as a program that uses it would:

AGUI_URL=http://127.0.0.1:8787/agui/demo AGUI_TOKEN=… .venv/bin/python chat.py
"""

import asyncio
import json
import sys
from functools import partial
from importlib.metadata import version

from agent_framework import Agent, ChatResponse, ChatResponseUpdate, Content, Message
from agent_framework.ag_ui import state_carrier

from answers import ANSWERS, FAILURES, WEATHER_ARGS, outline, two_tools
from demo import HEADERS, slug
from report import Report, expect
from talk import Talk, slow_run

report = Report(f"agent-framework-ag-ui-{version('agent-framework-ag-ui')}")


def new_talk() -> Talk:
    return Talk(report.complaints, HEADERS)


async def answer(ask: str) -> str:
    async with new_talk() as talk:
        updates, response = await talk.ask(ask)
    expect.assertEqual(outline(response), ANSWERS[ask])
    expect.assertEqual(response.finish_reason, "stop")
    expect.assertEqual(response.additional_properties["outcome"], {"type": "success"})
    assert_stream(updates, response)
    return f"{len(updates)} updates"


def assert_stream(updates: list[ChatResponseUpdate], response: ChatResponse) -> None:
    """The answer came in pieces, none of them empty, and the pieces are the answer."""
    pieces = [content for update in updates for content in update.contents if content.type == "text"]
    texts = [c for message in response.messages for c in message.contents if c.type == "text"]
    expect.assertEqual("".join(c.text for c in pieces), "".join(c.text for c in texts))
    expect.assertNotIn("", [content.text for content in pieces])
    if texts:
        expect.assertGreater(len(pieces), len(texts))


async def calls_at_once() -> str:
    """The client keeps the fragments of the call that was opened last, and says so of the others."""
    async with new_talk() as talk:
        updates, response = await talk.ask("use two tools at once")
    lost = report.complaints.take()
    first_call = next(c.call_id for u in updates for c in u.contents if c.type == "function_call")
    for complaint in lost:
        expect.assertRegex(complaint, f"^Ignoring TOOL_CALL_ARGS for toolCallId={first_call} ")
    expect.assertEqual(outline(response), two_tools("" if lost else WEATHER_ARGS))
    return "the client drops the first call's fragments" if lost else ""


async def long_stream() -> str:
    async with new_talk() as talk:
        updates, response = await talk.ask("stream 2000 words")
    expect.assertEqual(len(response.text.split()), 2000)
    assert_stream(updates, response)
    return f"{len(updates)} updates"


async def any_text() -> None:
    """The client breaks lines where Unicode does, so what would end one has to come escaped."""
    text = 'Grüße, 日本 👩‍🚀 \u2028\u2029\x85 "quoted" \\n data: {"type":"RUN_ERROR"}'
    async with new_talk() as talk:
        expect.assertEqual(await talk.text(f"repeat: {text}"), text)


async def notice() -> None:
    async with new_talk() as talk:
        _, response = await talk.ask("notice")
    expect.assertEqual(response.text, "There is a notice.")
    event = response.additional_properties["ag_ui_custom_event"]
    expect.assertRegex(event["name"], r"^\w+\.notice$")
    expect.assertEqual(event["value"], {"message": "this is a notice"})


async def why_it_stopped() -> None:
    for ask, reason in [("stop early", "max_tokens"), ("refuse", "refusal")]:
        async with new_talk() as talk:
            _, response = await talk.ask(ask)
        expect.assertEqual(response.additional_properties["result"], {"stopReason": reason})


async def failure(ask: str) -> None:
    async with new_talk() as talk:
        _, response = await talk.ask(ask)
        expect.assertEqual(outline(response), FAILURES[ask])
        expect.assertIsNone(response.finish_reason)
        expect.assertNotIn("outcome", response.additional_properties)
        expect.assertIn("Hello!", await talk.text("say hello"), "the thread lives on")


async def second_turn() -> None:
    async with new_talk() as talk:
        for turn in (1, 2):
            expect.assertEqual(await talk.text("how often"), f"This is turn {turn} of the session.")
        expect.assertEqual([len(sent["messages"]) for sent in talk.sent], [1, 1])


async def agent_with_a_history() -> None:
    """The framework's agent posts the whole history again, and runs the tools that are its own."""
    asked: list[str] = []

    def get_user_location() -> str:
        """Where the user is."""
        asked.append("location")
        return "Paris"

    async with new_talk() as talk:
        agent = Agent(client=talk.client, tools=[get_user_location])
        session = agent.create_session()
        texts = [
            (await agent.run(ask, session=session, options=talk.options)).text
            for ask in ("use a tool", "say hello", "how often")
        ]
    hello = "Hello! I am the demo agent. What shall I do?"
    expect.assertEqual(texts, ["It is 18 degrees in Paris.", hello, "This is turn 3 of the session."])
    expect.assertEqual(asked, [], "the demo's tool is not the client's to run")
    expect.assertEqual(len(talk.sent), len(texts), "one request a turn")
    roles = [message["role"] for message in talk.sent[-1]["messages"]]
    expect.assertEqual(roles, ["user", "assistant", "tool", "assistant", "user", "assistant", "user"])
    expect.assertEqual([tool["name"] for tool in talk.sent[-1]["tools"]], ["get_user_location"])


async def state_goes_up() -> None:
    state = {"steps": [{"done": True, "share": 0.5}], "name": "tea"}
    async with new_talk() as talk:
        text = await talk.text(Message("user", ["echo state"]), state_carrier(state))
    expect.assertEqual(json.loads(text), state)


async def image_goes_up() -> None:
    image = Content.from_data(b"\x89PNG\r\n\x1a\n", media_type="image/png")
    async with new_talk() as talk:
        text = await talk.text(Message("user", [Content.from_text("echo prompt"), image]))
    expect.assertEqual(text, "echo prompt (and what is not text)")


async def busy_thread() -> None:
    async with new_talk() as talk, slow_run(talk):
        expect.assertEqual(await talk.refused("say hello"), 409)


async def close_in_mid_stream() -> str:
    async with new_talk() as talk:
        async with slow_run(talk):
            pass
        return await runs_again(talk)


async def cancel_in_mid_stream() -> str:
    """The task that reads the stream is cancelled, which is how a web server drops a request."""
    async with new_talk() as talk:
        is_streaming = asyncio.Event()

        async def read() -> None:
            async for update in talk.client.get_response("be slow", stream=True, options=talk.options):
                if update.text:
                    is_streaming.set()

        task = asyncio.create_task(read())
        await is_streaming.wait()
        task.cancel()
        await asyncio.wait([task])
        expect.assertTrue(task.cancelled())
        return await runs_again(talk)


async def runs_again(talk: Talk) -> str:
    """The thread is free at once or soon, and its session is still the same."""
    text, attempts = await talk.text_when_free("how often")
    expect.assertEqual(text, "This is turn 2 of the session.")
    return f"{attempts} attempt{'s' if attempts > 1 else ''} after the stop"


async def wrong_token() -> None:
    async with Talk(report.complaints, {"authorization": "Bearer wrong"}) as talk:
        expect.assertEqual(await talk.refused("say hello"), 401)


async def main() -> int:
    for ask in ANSWERS:
        await report.check(slug(ask), partial(answer, ask))
    for ask in FAILURES:
        await report.check(slug(ask), partial(failure, ask))
    for run in CHECKS:
        await report.check(run.__name__.replace("_", "-"), run)
    return report.finish()


CHECKS = [
    calls_at_once,
    long_stream,
    any_text,
    notice,
    why_it_stopped,
    second_turn,
    agent_with_a_history,
    state_goes_up,
    image_goes_up,
    busy_thread,
    close_in_mid_stream,
    cancel_in_mid_stream,
    wrong_token,
]

sys.exit(asyncio.run(main()))
