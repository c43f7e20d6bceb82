# SPDX-License-Identifier: Apache-2.0
"""Counts the requests that reached the API server, from its audit log.

A request is counted when it arrived (stage RequestReceived), so a watch that is still open counts,
once.
"""

import collections
import json
import pathlib

FIELDS = ("agent", "verb", "resource", "user", "code")


def _field(event: dict, field: str, codes: dict) -> str:
    if field == "agent":
        return event.get("userAgent", "")
    if field == "verb":
        return event.get("verb", "")
    if field == "user":
        return event.get("user", {}).get("username", "")
    if field == "code":
        return codes.get(event["auditID"], "open")
    target = event.get("objectRef")
    if not target:
        return event.get("requestURI", "").partition("?")[0]
    parts = [target.get("apiGroup"), target.get("resource"), target.get("subresource")]
    return "/".join(part for part in parts if part)


class Audit:
    def __init__(self, log: pathlib.Path):
        self.log = log
        self.mark = log.with_name("audit.mark")

    def reset(self) -> None:
        """From here on only later requests are counted; the log itself stays as it is."""
        self.mark.write_text(str(self.log.stat().st_size if self.log.exists() else 0))

    def count(self, fields: list[str]) -> list[dict]:
        """Rows of `fields` and `count`, most frequent first."""
        start = int(self.mark.read_text()) if self.mark.exists() else 0
        received, codes = [], {}
        with open(self.log, "rb") as log:
            log.seek(start)
            for line in log:
                try:
                    event = json.loads(line)
                except ValueError:  # the last line is being written
                    continue
                if event["stage"] == "RequestReceived":
                    received.append(event)
                else:
                    codes[event["auditID"]] = str(event.get("responseStatus", {}).get("code", ""))
        counts = collections.Counter(tuple(_field(e, f, codes) for f in fields) for e in received)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return [dict(zip(fields, key, strict=True)) | {"count": count} for key, count in ordered]
