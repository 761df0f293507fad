"""Streams as bytes: taken from the daemon, read from a snapshot, and made of events."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import httpx
from ag_ui_validate.transport import TransportResponseLike

TESTS = Path(__file__).resolve().parents[2]


class Recorder:
    """A `fetch_impl` for the validator that keeps the body it passes on.

    With a number of events to `stop_after` it hangs up once that many have come, and keeps whole frames.
    """

    def __init__(self, stop_after: int | None = None) -> None:
        self.body = b""
        self._stop_after = stop_after

    async def __call__(
        self, url: str, *, method: str, headers: dict[str, str], body: bytes, timeout_s: float | None
    ) -> TransportResponseLike:
        client = httpx.AsyncClient(timeout=timeout_s)
        request = client.build_request(method, url, headers=headers, content=body)
        response = await client.send(request, stream=True)
        return TransportResponseLike(response.status_code, response.headers, self._read(client, response))

    async def _read(self, client: httpx.AsyncClient, response: httpx.Response) -> AsyncIterator[bytes]:
        try:
            async for chunk in response.aiter_bytes():
                is_enough = self._stop_after and (self.body + chunk).count(b"\n\n") >= self._stop_after
                kept = chunk[: chunk.rfind(b"\n\n") + 2] if is_enough else chunk
                self.body += kept
                yield kept
                if is_enough:
                    return
        finally:
            await response.aclose()
            await client.aclose()


def events_of(body: bytes) -> list[dict]:
    """The events of a whole body, after a look at its framing: lines end in LF, one data line a frame."""
    assert b"\r" not in body, "a carriage return in the stream"
    assert body.endswith(b"\n\n"), "the last frame is not closed by a blank line"
    frames = [frame for frame in body.decode().split("\n\n") if frame and not frame.startswith(":")]
    assert all(frame.startswith("data: ") and "\n" not in frame for frame in frames), "not one data line"
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


def body_of(events: Iterable[dict]) -> bytes:
    """The body that the events make."""
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def snapshots() -> dict[str, list[dict]]:
    """The streams that the Rust tests have on file, by name."""
    found = {}
    for path in sorted(TESTS.glob("*/snapshots/*.snap")):
        _, _, content = path.read_text().removeprefix("---\n").partition("\n---\n")
        if content.startswith('{"type":'):
            found[path.stem] = [json.loads(line) for line in content.splitlines() if line]
    assert found, "no snapshot of a stream"
    return found


async def serve(body: bytes) -> asyncio.Server:
    """A server on a port of its own that answers every request with the body."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + body
        )
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)
