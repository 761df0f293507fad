"""Has Microsoft's `AGUIChatClient` answer what the demo agent waits for, as a program that uses it would:

AGUI_URL=http://127.0.0.1:8787/agui/demo AGUI_TOKEN=… .venv/bin/python asking.py
"""

import asyncio
import sys
from functools import partial
from importlib.metadata import version

from agent_framework import Agent, ChatResponse

from demo import HEADERS
from report import Report, expect
from talk import Talk

report = Report(f"agent-framework-ag-ui-{version('agent-framework-ag-ui')}")


def new_talk() -> Talk:
    return Talk(report.complaints, HEADERS)


async def tool_of_the_page() -> None:
    """The framework runs a tool that is its own and posts the result, which goes on with the turn."""
    opened: list[int] = []

    def openRecord(id: int) -> str:  # noqa: N802, A002: the demo calls it so
        """Opens a record."""
        opened.append(id)
        return "opened"

    async with new_talk() as talk:
        agent = Agent(client=talk.client, tools=[openRecord])
        session = agent.create_session()
        answer = await agent.run("open record 42", session=session, options=talk.options)
        expect.assertEqual(opened, [42])
        expect.assertTrue(answer.text.endswith("openRecord: opened\n"), answer.text)
        expect.assertEqual(len(talk.sent), 2)
        again = await agent.run("how often", session=session, options=talk.options)
        expect.assertEqual(again.text, "This is turn 2 of the session.")


async def two_tools_at_once() -> None:
    done: list[str] = []

    def left() -> str:
        """Goes left."""
        done.append("left")
        return "1"

    def right() -> str:
        """Goes right."""
        done.append("right")
        return "2"

    async with new_talk() as talk:
        agent = Agent(client=talk.client, tools=[left, right])
        answer = await agent.run("call two page tools at once", options=talk.options)
    expect.assertEqual(sorted(done), ["left", "right"])
    expect.assertTrue(answer.text.endswith("left: 1\nright: 2\n"), answer.text)


async def permission(payload: object, outcome: str, text: str) -> None:
    async with new_talk() as talk:
        interrupts, call = asked(await talk.ask("ask permission"))
        resume = [{"interruptId": interrupts[0]["id"], "payload": payload}]
        _, response = await talk.ask(resume=resume)
        expect.assertEqual(results(response), [(call, outcome)])
        expect.assertEqual(response.text, text)
        expect.assertEqual(await talk.text("how often"), "This is turn 2 of the session.")


async def two_permissions_at_once() -> None:
    async with new_talk() as talk:
        interrupts, _ = asked(await talk.ask("ask two permissions at once"))
        resume = [{"interruptId": one["id"], "payload": {"approved": True}} for one in interrupts]
        expect.assertEqual(await talk.refused(resume=resume[:1]), 409)
        _, response = await talk.ask(resume=resume)
        expect.assertEqual([result for _, result in results(response)], ["written", "written"])


async def question() -> None:
    answers = [{"questionId": "q1", "selected": ["Blue"]}, {"questionId": "q2", "selected": ["Pears"]}]
    async with new_talk() as talk:
        interrupts, _ = asked(await talk.ask("ask me"))
        resume = [{"interruptId": interrupts[0]["id"], "payload": {"answers": answers}}]
        _, response = await talk.ask(resume=resume)
        expect.assertRegex(response.text, "(?s)Blue.*Pears")


def asked(run: tuple[object, ChatResponse]) -> tuple[list[dict], str]:
    """The interrupts that a run has ended with, and the call that waits for the first."""
    interrupts = run[1].additional_properties["interrupts"]
    return interrupts, interrupts[0]["toolCallId"]


def results(response: ChatResponse) -> list[tuple[str, str]]:
    contents = [content for message in response.messages for content in message.contents]
    return [(c.call_id, c.result) for c in contents if c.type == "function_result"]


GIVEN = "write_file: allowed (once)\nThat is all."
DENIED = "write_file: denied (reject, said)\nThat is all."

CHECKS = {
    "tool-of-the-page": tool_of_the_page,
    "two-tools-at-once": two_tools_at_once,
    "permission-given": partial(permission, {"approved": True}, "written", GIVEN),
    "permission-denied": partial(permission, {"approved": False}, "permission denied", DENIED),
    "two-permissions-at-once": two_permissions_at_once,
    "question": question,
}


async def main() -> int:
    for name, run in CHECKS.items():
        await report.check(name, run)
    return report.finish()


sys.exit(asyncio.run(main()))
