# SPDX-License-Identifier: Apache-2.0
"""A proxy between a component of ours and the API server that knows each call and can spoil it: the caller is killed
before or after the call, or is answered an error, whether the call was carried out or not.
"""

import asyncio
import json
import re
import threading

KILLS = ("killed before", "killed after")
ANSWERS = {"409": (409, "Conflict"), "429": (429, "TooManyRequests"), "500": (500, "InternalError"),
           "500 after": (500, "InternalError")}
# Those first after which the caller has to call again.
FAILURES = ("killed before", "409", "429", "500", "killed after", "500 after")


class Call:
    def __init__(self, head: bytes, body: bytes):
        self.head, self.raw = head, body
        self.verb, self.path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        self.is_watch = self.verb == "GET" and re.search(r"[?&]watch=(1|true)", self.path) is not None

    @property
    def body(self):
        return json.loads(self.raw) if self.raw else {}


class FaultyProxy:
    """Listens at http://127.0.0.1:port. `site_of` names a call, or gives None for one that is left alone; `choose` is
    told the name and how often it was called by now, and gives one of FAILURES or None. `kill` ends the caller and
    starts it anew.
    """

    def __init__(self, plane, site_of, kill, retry_after=1):
        self.plane, self.site_of, self.kill, self.retry_after = plane, site_of, kill, retry_after
        self.choose = lambda site, ordinal: None
        self.calls = {}  # site -> how often
        self.error = None
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 24), self.loop).result()
        self.port = self.server.sockets[0].getsockname()[1]

    def close(self):
        async def end():
            self.server.close()
            tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def serve(self, reader, writer):
        server = None
        try:
            server = await asyncio.open_connection("127.0.0.1", self.plane.port, ssl=self.plane.TRUST, limit=1 << 24)
            while await self.one(reader, writer, *server):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # one of them went away, or this proxy does
        except Exception as error:  # told by the test
            self.error = error
            raise
        finally:
            for end in (writer, server[1] if server else None):
                if end is not None:
                    end.close()

    async def one(self, reader, writer, up, down):
        """One call, or False when the caller has hung up."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        call = Call(head, await reader.readexactly(int(length.group(1))) if length else b"")
        failure, site = None, self.site_of(call)
        if site is not None:
            self.calls[site] = self.calls.get(site, 0) + 1
            failure = self.choose(site, self.calls[site])
        if failure == "killed before":
            await self.loop.run_in_executor(None, self.kill)
            return False
        if failure in ANSWERS and not failure.endswith("after"):
            self.answer(writer, *ANSWERS[failure])
            await writer.drain()
            return True
        down.write(head + call.raw)
        await down.drain()
        if call.is_watch and failure is None:
            await self.pass_on(reader, up, writer)
            return False
        answer, stays = await self.whole(up, call.is_watch)
        if failure == "killed after":
            await self.loop.run_in_executor(None, self.kill)
            return False
        if failure is None:
            writer.write(answer)
        else:
            self.answer(writer, *ANSWERS[failure])
        await writer.drain()
        return stays

    async def whole(self, up, only_head):
        """The API server's answer as it came, and whether its connection can be used again."""
        head = await up.readuntil(b"\r\n\r\n")
        lower = head.lower()
        if only_head:
            return head, False
        length = re.search(rb"\r\ncontent-length: *(\d+)", lower)
        if length:
            return head + await up.readexactly(int(length.group(1))), b"connection: close" not in lower
        assert b"transfer-encoding: chunked" in lower, head
        parts = [head]
        while True:
            size = await up.readline()
            data = await up.readexactly(int(size, 16) + 2)
            parts += [size, data]
            if data == b"\r\n":
                return b"".join(parts), b"connection: close" not in lower

    async def pass_on(self, reader, up, writer):
        """A watch, until either side ends it."""
        async def stream():
            while data := await up.read(1 << 16):
                writer.write(data)
                await writer.drain()

        tasks = [asyncio.ensure_future(stream()), asyncio.ensure_future(reader.read(1))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def answer(self, writer, code, reason):
        body = json.dumps({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason,
                           "message": f"injected {code}"}).encode()
        retry = f"Retry-After: {self.retry_after}\r\n" if code == 429 else ""
        writer.write(f"HTTP/1.1 {code} {reason}\r\nContent-Type: application/json\r\n{retry}"
                     f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
