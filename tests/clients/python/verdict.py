"""What a report of `ag-ui-validate` comes to: nothing found, or what AG-UI 1.0 allows and 0.4.0 does not."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """A finding that is wrong by AG-UI 1.0."""

    rule: str
    why: str
    applies: Callable[[list[dict], dict], bool]
    """Whether it is that finding, by the whole stream and the event that was found fault with."""

    def __str__(self) -> str:
        return f"{self.rule}, {self.why}"


def _opens_its_message(events: list[dict], event: dict) -> bool:
    messages = {e["messageId"] for e in events if e["type"] == "TEXT_MESSAGE_START"}
    return event["type"] == "TOOL_CALL_START" and event["parentMessageId"] not in messages


def _was_given_up(events: list[dict], event: dict) -> bool:
    call = event.get("toolCallId")
    results = [e for e in events if e["type"] == "TOOL_CALL_RESULT" and e["toolCallId"] == call]
    flags = {key: value for result in results for key, value in result.get("metadata", {}).items()}
    return any(key.endswith(".isError") and value is True for key, value in flags.items())


def _has_parts(_: list[dict], event: dict) -> bool:
    return event["type"] == "TOOL_CALL_RESULT" and isinstance(event["content"], list)


# The rules of 0.4.0 are made of an SDK from before 1.0. In 1.0 a parent that names no message is a new
# assistant message, the fragments of a call are text that nobody checks, and a result is a string or parts.
DEVIATIONS = [
    Deviation("AGUI208", "a call may open its own message", _opens_its_message),
    Deviation("AGUI204", "arguments are text, and those of a call given up end anywhere", _was_given_up),
    Deviation("AGUI504", "a result may have parts", _has_parts),
]


class Refused(AssertionError):
    """What the validator has found, one line each. `rules` has its rules in order."""

    def __init__(self, findings: list[dict]) -> None:
        self.rules = [finding["rule"] for finding in findings]
        super().__init__(
            "\n".join(f"{f['rule']} at event {f['eventIndex']}: {f['message']}" for f in findings)
        )


def judge(report: dict, events: list[dict]) -> set[Deviation]:
    """Fails unless the stream is right; the value is what had to be tolerated for that.

    The report is what the validator gives as JSON. Findings of every severity count, and so does whatever
    keeps it from looking at all events.
    """
    assert report["internalErrors"] == [], report["internalErrors"]
    tolerated, refused = set(), []
    for finding in report["diagnostics"]:
        deviation = _deviation(finding, events)
        if deviation:
            tolerated.add(deviation)
        else:
            refused.append(finding)
    if refused:
        raise Refused(refused)
    assert report["eventCount"] == len(events) > 0, (
        f"{report['eventCount']} of {len(events)} events were read"
    )
    return tolerated


def _deviation(finding: dict, events: list[dict]) -> Deviation | None:
    index = finding["eventIndex"]
    if not 0 <= index < len(events):
        return None
    found = (d for d in DEVIATIONS if d.rule == finding["rule"] and d.applies(events, events[index]))
    return next(found, None)
