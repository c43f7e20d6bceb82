# SPDX-License-Identifier: Apache-2.0
"""A container runtime's own interface (CRI), as the kubelet uses it: unary calls of the services of runtime.v1, with
messages of which only what a test needs is written and read.
"""

import os
import pathlib
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GO_AWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1
NODE_NAMESPACE = 2
RUNNING = 1


class Refused(Exception):
    """The runtime answered with an error, or not at all."""


def text(number: int, content: str | bytes) -> bytes:
    """A field of a protobuf message that holds text or another message."""
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def fields(message: bytes) -> list[tuple[int, int | bytes]]:
    """Numbers and values of a message's fields, of the types varint and bytes."""
    found = []
    at = 0

    def take() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = take()
        value = take()
        if tag & 7 == 2:
            at += value
            value = message[at - value:at]
        found.append((tag >> 3, value))
    return found


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(content: str) -> bytes:
    return bytes([len(content)]) + content.encode()


class Cri:
    def __init__(self, path: pathlib.Path):
        self.path = path

    def call(self, method: str, message: bytes, seconds: float = 60,
             service: str = "RuntimeService") -> list[tuple[int, int | bytes]]:
        """The fields of the answer. Blocks until it is there."""
        head = (b"\x83\x86\x04" + literal(f"/runtime.v1.{service}/{method}") + b"\x01" + literal("localhost")
                + b"\x0f\x10" + literal("application/grpc") + b"\0" + literal("te") + literal("trailers"))
        # A socket's own path may be longer than an address can be.
        folder = os.open(self.path.parent, os.O_PATH)
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(seconds)
                connection.connect(f"/proc/self/fd/{folder}/{self.path.name}")
                connection.sendall(PREFACE + frame(SETTINGS, 0, 0, b"") + frame(HEADERS, END_HEADERS, 1, head)
                                   + frame(DATA, END_STREAM, 1, struct.pack(">BI", 0, len(message)) + message))
                return fields(self._answer(connection)[5:])
        except OSError as error:
            raise Refused(f"{method}: {error}") from error
        finally:
            os.close(folder)

    def has_image(self, name: str) -> bool:
        return 1 in dict(self.call("ImageStatus", text(1, text(1, name)), service="ImageService"))

    @staticmethod
    def _answer(connection: socket.socket) -> bytes:
        stream = connection.makefile("rb")
        message = trailers = b""
        while True:
            head = stream.read(9)
            if len(head) < 9:
                raise Refused("error reading from server: EOF")
            kind, flags = head[3], head[4]
            payload = stream.read(int.from_bytes(head[:3], "big"))
            if kind in (SETTINGS, PING) and not flags & ACK:
                connection.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
            elif kind in (RESET, GO_AWAY):
                raise Refused("it closed the call")
            elif kind == DATA:
                message += payload
            elif kind == HEADERS:
                trailers = payload
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                if len(message) < 5:
                    raise Refused(f"an error: {trailers!r}")
                return message


class Pod:
    """A pod of one container, in the network of its node."""

    def __init__(self, cri: Cri, name: str, image: str, cgroup: str, handler: str = ""):
        self.cri = cri
        self.image = image
        network_of_the_node = number(1, NODE_NAMESPACE)
        linux = text(1, cgroup) + text(2, text(1, network_of_the_node))
        self.config = text(1, text(1, name) + text(2, f"uid-{name}") + text(3, "default")) + text(8, linux)
        answer = cri.call("RunPodSandbox", text(1, self.config) + text(2, handler))
        self.sandbox = dict(answer)[1].decode()

    def create(self) -> str:
        config = text(1, text(1, "main")) + text(2, text(1, self.image))
        message = text(1, self.sandbox) + text(2, config) + text(3, self.config)
        return dict(self.cri.call("CreateContainer", message))[1].decode()

    def start(self, container: str):
        self.cri.call("StartContainer", text(1, container))

    def state(self, container: str) -> int:
        listed = [dict(fields(item)) for _, item in self.cri.call("ListContainers", b"")]
        return next(item.get(6, 0) for item in listed if item[1].decode() == container)

    def remove(self):
        for method in ("StopPodSandbox", "RemovePodSandbox"):
            self.cri.call(method, text(1, self.sandbox))
