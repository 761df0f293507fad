"""Checks that are run and reported one by one: `ok NAME` or `FAIL NAME: reason`, and a sum at the end."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from unittest import TestCase

TIMEOUT = 60
"""Seconds that one check may take."""

expect = TestCase()
"""The assertions of the standard library, which say what differs."""
expect.maxDiff = None


class Complaints(logging.Handler):
    """Whatever a library says at WARNING or above, its Python warnings included."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._heard: list[str] = []
        logging.captureWarnings(True)
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(record.getMessage())

    def take(self) -> list[str]:
        """What was said since the last look."""
        heard, self._heard = self._heard, []
        return heard


class Report:
    """Runs the checks of one client and counts them. A complaint that nobody has taken fails the check."""

    def __init__(self, client: str) -> None:
        self.complaints = Complaints()
        self._client = client
        self._passed = 0
        self._failed = 0

    async def check(self, name: str, run: Callable[[], Awaitable[str | None]]) -> None:
        """Runs one check and prints the remark it returns, if any."""
        try:
            async with asyncio.timeout(TIMEOUT):
                remark = await run()
            expect.assertEqual(self.complaints.take(), [], "the library complains")
        except Exception as error:
            self.complaints.take()
            self._failed += 1
            lines = "".join(traceback.format_exception(error)).splitlines()
            print(
                f"FAIL {self._client} {name}: {type(error).__name__}", *lines[-12:], sep="\n    ", flush=True
            )
        else:
            self._passed += 1
            print(f"ok {self._client} {name}{f' ({remark})' if remark else ''}", flush=True)

    def finish(self) -> int:
        """Prints the sum; the value is the exit status."""
        print(f"{self._passed} passed, {self._failed} failed", flush=True)
        return 0 if self._failed == 0 and self._passed > 0 else 1
