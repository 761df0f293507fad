"""A conversation through Microsoft's `AGUIChatClient`, seen from both sides."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx
from agent_framework import ChatResponse, ChatResponseUpdate, Message
from agent_framework.ag_ui import AGUIChatClient

from demo import URL
from report import Complaints, expect

ATTEMPTS = 10
"""How often a thread that is busy is asked again, each time after as long as the server says."""


class Talk:
    """A client with a thread of its own, and what went over its connection."""

    def __init__(self, complaints: Complaints, headers: dict[str, str]) -> None:
        self._complaints = complaints
        hooks = {"request": [self._on_request], "response": [self._on_response]}
        self._http = httpx.AsyncClient(headers=headers, timeout=30, event_hooks=hooks)
        self.client = AGUIChatClient(endpoint=URL, http_client=self._http)
        self.options = {"metadata": {"thread_id": f"thread-{uuid4()}"}}
        self.sent: list[dict] = []
        self.responses: list[httpx.Response] = []

    async def __aenter__(self) -> "Talk":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(
        self, *messages: str | Message, **options: object
    ) -> tuple[list[ChatResponseUpdate], ChatResponse]:
        """Asks, reads the stream to its end; the value is its updates and what they add up to."""
        stream = self.client.get_response(list(messages), stream=True, options=self.options | options)
        updates = [update async for update in stream]
        return updates, await stream.get_final_response()

    async def text(self, *messages: str | Message) -> str:
        """The text of the answer."""
        return (await self.ask(*messages))[1].text

    async def text_when_free(self, ask: str) -> tuple[str, int]:
        """The same on a thread that may still be busy, and how many attempts it took."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self.text(ask), attempt
            except Exception as error:
                expect.assertEqual(self._refusal(error), 409)
                self._complaints.take()
                seconds = int(self.responses[-1].headers["retry-after"])
                expect.assertLessEqual(seconds, 5)
                await asyncio.sleep(seconds)
        raise AssertionError(f"still busy after {ATTEMPTS} attempts")

    async def refused(self, *messages: str | Message, **options: object) -> int:
        """Asks what the server has to refuse; the value is the status."""
        try:
            text = (await self.ask(*messages, **options))[1].text
        except Exception as error:
            self._complaints.take()
            return self._refusal(error)
        raise AssertionError(f"answered instead of refused: {text}")

    def _refusal(self, error: Exception) -> int:
        # 1.7.0 trips over the unread body while it reports the status, so the status is in the context.
        refusal = error if isinstance(error, httpx.HTTPStatusError) else error.__context__
        if not isinstance(refusal, httpx.HTTPStatusError):
            raise error
        return refusal.response.status_code

    async def _on_request(self, request: httpx.Request) -> None:
        self.sent.append(json.loads(request.content))

    async def _on_response(self, response: httpx.Response) -> None:
        self.responses.append(response)


@asynccontextmanager
async def slow_run(talk: Talk) -> AsyncIterator[None]:
    """A run that streams a word every 200 ms, read up to the second and closed at the end of the block."""
    stream = talk.client.get_response("be slow", stream=True, options=talk.options)
    words = 0
    try:
        async for update in stream:
            words += bool(update.text)
            if words == 2:
                break
        yield
    finally:
        await stream.close()
