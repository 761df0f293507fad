"""Has `ag-ui-validate` look at what the demo agent streams, while it comes and as it was recorded:

AGUI_URL=http://127.0.0.1:8787/agui/demo AGUI_TOKEN=… .venv/bin/python validate.py
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from ag_ui_validate import ValidatorOptions
from ag_ui_validate.report.json import report_to_dict
from ag_ui_validate.transport import TransportOptions, validate_endpoint

from broken import BROKEN, Broken
from demo import HEADERS, URL, run_input, slug
from recording import Recorder, body_of, events_of, serve, snapshots
from report import Report, expect
from verdict import DEVIATIONS, Deviation, Refused, judge

SILENCE = "be silent for N seconds"
"""The phrase that takes longest, as the validator wants a sign of life every 30 seconds."""

NUMBERS = {SILENCE: 31, "stream N words": 2000}
"""What stands for the N of a phrase."""

_CUT = ["AGUI003", "AGUI103"]
ENDLESS = {
    "be slow": (6, _CUT),
    "ignore stop": (6, _CUT),
    "be silent": (3, ["AGUI003"]),
    "use a slow tool": (5, ["AGUI208", "AGUI003"]),
}
"""Phrases whose run takes a minute or more: when to leave, in events, and what is to be said of that."""

GOOD = "text, tool, text"
"""The phrase whose stream is broken in every way, as it has some of everything."""

OFF = {"AGUI507": "off"}
"""What is not asked for: that a body comes in several pieces. The demo's answers can be one."""

ASKING = {
    "ask two permissions at once": [],
    "ask me": [],
    "ask permission": ["pando_permission_request"],
    "open record 42": ["openRecord"],
    "call two page tools at once": ["left", "right"],
}
"""Phrases whose run waits for answers, with the tools of the page."""

OFF_WHEN_ANSWERED = {"AGUI207": "off"}
"""What 1.0 allows, and 0.4.0 does not: the result of a call of the run that was interrupted."""


class Checks:
    """The checks, the recordings that they leave in a folder, and what they have tolerated."""

    def __init__(self, folder: Path) -> None:
        self._report = Report(f"ag-ui-validate-{version('ag-ui-validate')}")
        self._folder = folder
        self._good: list[dict] = []
        self._tolerated: set[Deviation] = set()

    async def run(self) -> int:
        """Runs them all; the value is the exit status."""
        check = self._report.check
        async with asyncio.TaskGroup() as group:
            group.create_task(check(slug(SILENCE), partial(self._whole, SILENCE)))
            await check("default-request", self._default_request)
            for phrase in await phrases():
                run = self._left_early if phrase in ENDLESS else self._whole
                if phrase != SILENCE:
                    await check(slug(phrase), partial(run, phrase))
            for phrase, tools in ASKING.items():
                await check(f"{slug(phrase)}-answered", partial(self._answered, phrase, tools))
            for name, events in snapshots().items():
                await check(f"snapshot-{slug(name)}", partial(self._recorded, name, body_of(events)))
            for broken in BROKEN:
                await check(f"refuses-{broken.name}", partial(self._refuses, broken))
        await check("every-tolerance-is-needed", self._nothing_to_spare)
        return self._report.finish()

    async def _default_request(self) -> str:
        """What the program posts by itself, which declares no version of the protocol."""
        header = [f"{name}: {value}" for name, value in HEADERS.items()]
        status, report = await program(URL, "--header", *header, "--off", *OFF)
        expect.assertEqual((status, report["diagnostics"]), (0, []))
        expect.assertGreater(report["eventCount"], 3)
        return f"{report['eventCount']} events"

    async def _whole(self, phrase: str) -> str:
        recorder = Recorder()
        report = await live(URL, asking(phrase), recorder)
        events = events_of(recorder.body)
        if phrase == GOOD:
            self._good = events
        tolerated = judge(report, events)
        remark = await self._recorded(slug(phrase), recorder.body)
        self._tolerated |= tolerated
        return remark

    async def _answered(self, phrase: str, tools: list[str]) -> str:
        """The run that asks, and the one that goes on with the answers."""
        asked = run_input(phrase) | {"tools": [tool(name) for name in tools]}
        recorder = Recorder()
        tolerated = judge(await live(URL, asked, recorder), events_of(recorder.body))
        events = events_of(recorder.body)
        recorder = Recorder()
        report = await live(URL, answers_to(asked, events), recorder, OFF_WHEN_ANSWERED)
        events = events_of(recorder.body)
        self._tolerated |= tolerated | judge(report, events)
        expect.assertEqual(events[-1]["outcome"], {"type": "success"})
        return f"{len(events)} events"

    async def _left_early(self, phrase: str) -> str:
        """Of a stream that the reader leaves nothing is to be said but that its end is missing."""
        recorder = Recorder(stop_after=ENDLESS[phrase][0])
        report = await live(URL, asking(phrase), recorder)
        events = events_of(recorder.body)
        expect.assertEqual(report["eventCount"], len(events))
        expect.assertEqual([found["rule"] for found in report["diagnostics"]], ENDLESS[phrase][1])
        return f"left after {len(events)} events"

    async def _recorded(self, name: str, body: bytes) -> str:
        events = events_of(body)
        status, report = await self._program_on(name, body)
        tolerated = judge(report, events)
        summary = report["summary"]
        expect.assertEqual(status, 1 if summary["errors"] + summary["warnings"] else 0)
        self._tolerated |= tolerated
        return "; ".join([f"{len(events)} events", *sorted(f"tolerated: {known}" for known in tolerated)])

    async def _refuses(self, broken: Broken) -> str:
        body = broken.edit(self._good)
        expect.assertNotEqual(body, body_of(self._good))
        status, report = await self._program_on(broken.name, body)
        expect.assertEqual(status, 1)
        self._assert_refused(report, broken)
        async with await serve(body) as server:
            port = server.sockets[0].getsockname()[1]
            self._assert_refused(await live(f"http://127.0.0.1:{port}/", asking(GOOD), Recorder()), broken)
        return broken.rule

    def _assert_refused(self, report: dict, broken: Broken) -> None:
        with expect.assertRaises(Refused) as refused:
            judge(report, [])
        expect.assertIn(broken.rule, refused.exception.rules)

    async def _program_on(self, name: str, body: bytes) -> tuple[int, dict]:
        path = self._folder / f"{name}.sse"
        path.write_bytes(body)
        return await program(str(path))

    async def _nothing_to_spare(self) -> None:
        expect.assertEqual(self._tolerated, set(DEVIATIONS))


async def phrases() -> list[str]:
    """What the demo can be asked, in its own words: it says them when it does not understand."""
    recorder = Recorder()
    await live(URL, asking("help"), recorder)
    text = "".join(event.get("delta", "") for event in events_of(recorder.body) if "messageId" in event)
    found = [line[2:].rpartition(":")[0] for line in text.splitlines() if line.startswith("- ")]
    missing = {GOOD, *NUMBERS, *ENDLESS}.difference(found)
    assert not missing, f"the demo does not know {missing}, but {found}"
    return found


def asking(phrase: str) -> dict:
    """What a client posts that asks this."""
    number = str(NUMBERS.get(phrase, 2))
    return run_input(" ".join(number if word == "N" else word for word in phrase.split()))


def tool(name: str) -> dict:
    """A tool of the page."""
    return {"name": name, "description": "", "parameters": {"type": "object"}}


def answers_to(asked: dict, events: list[dict]) -> dict:
    """What a client posts that answers all that a run has ended with."""
    outcome = events[-1]["outcome"]
    approved = {"approved": True}
    resume = [
        {"interruptId": interrupt["id"], "status": "resolved", "payload": approved}
        for interrupt in outcome.get("interrupts", [])
    ]
    results = [
        {"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": json.dumps(approved)}
        for call in outcome.get("pendingToolCallIds", [])
    ]
    answers = {"runId": f"{asked['runId']}-answered", "messages": asked["messages"] + results}
    return asked | answers | ({"resume": resume} if resume else {})


async def live(url: str, asked: dict, recorder: Recorder, off: dict[str, str] | None = None) -> dict:
    """The report on a stream while it comes."""
    options = TransportOptions(
        validator=ValidatorOptions(severity_overrides=OFF | (off or {})),
        headers=HEADERS,
        input=asked,
        fetch_impl=recorder,
        timeout_ms=45_000,
    )
    result = await validate_endpoint(url, options)
    assert result.transport_error is None, result.transport_error
    return report_to_dict(result.report)


async def program(target: str, *options: str) -> tuple[int, dict]:
    """What the program itself says of a file or an address, and its exit status."""
    command = [sys.executable, "-m", "ag_ui_validate.cli", target, "--json", "--max-warnings", "0", *options]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    output, errors = await process.communicate()
    assert process.returncode in (0, 1), f"the program failed with {process.returncode}: {errors.decode()}"
    return process.returncode, json.loads(output)


with TemporaryDirectory() as folder:
    status = asyncio.run(Checks(Path(folder)).run())
sys.exit(status)
