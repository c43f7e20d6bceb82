# SPDX-License-Identifier: Apache-2.0
"""Carries TCP connections from the host's loopback to the API server, which is in the bed's own
network.

The listening socket was opened on the host and is handed down; this process lives in the bed's
network namespace. So clients on the host reach the bed, and the host's network has no address or
route of it.

usage: relay.py LISTENING_FD ADDRESS PORT
"""

import asyncio
import contextlib
import socket
import struct
import sys

BLOCK = 1 << 16


def reset_on_close(writer: asyncio.StreamWriter) -> None:
    """A connection that was refused or broken at one end is broken at the other too, not ended
    in peace.
    """
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while block := await reader.read(BLOCK):
            writer.write(block)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        reset_on_close(writer)
        writer.close()


async def serve(listening: socket.socket, address: str, port: int) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(address, port, limit=BLOCK)
        except OSError:
            reset_on_close(writer)
            writer.close()
            return
        await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))
        for end in (writer, far_writer):
            with contextlib.suppress(OSError):
                end.close()

    server = await asyncio.start_server(connected, sock=listening, limit=BLOCK)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], int(sys.argv[3])))
