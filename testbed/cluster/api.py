# SPDX-License-Identifier: Apache-2.0
"""A small client of the bed's API server, for what the bed itself has to ask and make."""

import http.client
import json
import pathlib
import ssl


class Api:
    """One connection, kept open; OSError while the API server cannot be reached."""

    def __init__(self, pki: pathlib.Path, port: int):
        self._context = ssl.create_default_context(cafile=pki / "ca.crt")
        self._context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._port = port
        self._connection = None

    def request(self, method: str, path: str, body: dict | None = None) -> tuple[int, str]:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1", self._port, timeout=10, context=self._context
            )
        headers = {"Content-Type": "application/json", "User-Agent": "bed"}
        try:
            self._connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._connection = None
            raise OSError(f"{method} {path}: {error}") from error

    def ready(self) -> bool:
        """Whether every part of the API server is up; earlier, controllers are refused their
        own rights.
        """
        try:
            return self.request("GET", "/readyz") == (200, "ok")
        except OSError:
            return False

    def get(self, path: str) -> dict | None:
        """The object, or None if there is none (or nobody to ask)."""
        try:
            status, body = self.request("GET", path)
        except OSError:
            return None
        return json.loads(body) if status == 200 else None

    def create(self, path: str, body: dict) -> None:
        """Makes an object; one that is there already stays as it is."""
        status, answer = self.request("POST", path, body)
        if status not in (200, 201, 409):
            raise OSError(f"POST {path}: {status} {answer[:500]}")

    def delete(self, path: str) -> None:
        status, answer = self.request("DELETE", path)
        if status not in (200, 202, 404):
            raise OSError(f"DELETE {path}: {status} {answer[:500]}")

    def node_ready(self, name: str) -> bool:
        return _is_ready(self.get(f"/api/v1/nodes/{name}") or {})

    def ready_nodes(self) -> set[str]:
        nodes = (self.get("/api/v1/nodes") or {}).get("items", [])
        return {node["metadata"]["name"] for node in nodes if _is_ready(node)}


def _is_ready(node: dict) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
