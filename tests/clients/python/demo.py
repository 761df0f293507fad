"""The demo agent that the tests find in AGUI_URL, behind the token in AGUI_TOKEN."""

import os
import re
import sys
from uuid import uuid4

try:
    URL = os.environ["AGUI_URL"]
    HEADERS = {"authorization": f"Bearer {os.environ['AGUI_TOKEN']}"}
except KeyError as missing:
    sys.exit(f"{missing} is not set")


def slug(ask: str) -> str:
    """The words as the name of a check."""
    return re.sub(r"[^a-z0-9]+", "-", ask.lower()).strip("-")


def run_input(ask: str) -> dict:
    """What a client of 1.0 posts that asks this on a thread of its own."""
    return {
        "threadId": f"thread-{uuid4()}",
        "runId": f"run-{uuid4()}",
        "protocolVersion": "1.0",
        "messages": [{"id": f"message-{uuid4()}", "role": "user", "content": ask}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
