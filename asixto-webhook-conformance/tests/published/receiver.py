"""A receiver that verifies as the published Python code does.

It accepts and refuses the same headers, edge by edge; the rest is what the document asks of a receiver: 400 for what is
refused, one header line, deduplication by `id`, and a 2xx once the delivery is safe.
"""

import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = [secret.encode() for secret in os.environ["ASIXTO_WEBHOOK_SECRETS"].split(",")]
WINDOW = 300
# 256 KB, and room for what a replay adds.
BODY_LIMIT = 257 * 1024

runs: dict[str, int] = {}
lock = threading.Lock()


def genuine(header: str, body: bytes) -> bool:
    """Blanks are trimmed around a part alone; the last `t` counts; a `v1` without a value is one that does not match."""
    pairs = [part.strip().partition("=")[::2] for part in header.split(",")]
    times = [value for key, value in pairs if key == "t"]
    candidates = [value for key, value in pairs if key == "v1"]
    # Python's digits, leading zeros included.
    if not times or not times[-1].isdigit() or not candidates:
        return False
    if abs(int(time.time()) - int(times[-1])) > WINDOW:
        return False
    macs = [hmac.new(secret, times[-1].encode() + b"." + body, hashlib.sha256).hexdigest() for secret in SECRETS]
    return any(hmac.compare_digest(candidate, mac) for mac in macs for candidate in candidates)


def once(event_id: str) -> None:
    """Claims the id and does its work, which is to be counted, in one step."""
    with lock:
        runs.setdefault(event_id, 1)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A body that stops is not waited for.
    timeout = 5

    def do_GET(self) -> None:
        if self.path != "/events":
            return self.answer(405 if self.path == "/webhooks/asixto" else 404)
        with lock:
            events = [{"id": event_id, "times": times} for event_id, times in runs.items()]
        self.answer(200, json.dumps(events).encode())

    def do_POST(self) -> None:
        # Whatever is not read of a body would be taken for the next request.
        self.close_connection = True
        if self.path != "/webhooks/asixto":
            return self.answer(404)
        try:
            body = self.body()
        except (OSError, ValueError):
            return self.answer(400)
        if body is None:
            return self.answer(413)
        headers = self.headers.get_all("Asixto-Signature", [])
        try:
            refused = len(headers) != 1 or not genuine(headers[0], body)
        except (TypeError, ValueError):
            # What `compare_digest` and `int` raise at: characters outside ASCII, and digits without end.
            refused = True
        if refused:
            return self.answer(400)
        try:
            event_id = json.loads(body)["id"]
        except (KeyError, TypeError, ValueError):
            return self.answer(400)
        if not isinstance(event_id, str):
            return self.answer(400)
        once(event_id)
        self.answer(200)

    def body(self) -> bytes | None:
        """The raw body, or nothing where it is too large."""
        if self.headers.get("Transfer-Encoding") is None:
            length = int(self.headers.get("Content-Length", 0))
            return self.exactly(length) if length <= BODY_LIMIT else None
        body = b""
        while size := int(self.rfile.readline(20).split(b";")[0], 16):
            if len(body) + size > BODY_LIMIT:
                return None
            body += self.exactly(size)
            self.rfile.readline(3)
        while self.rfile.readline(65537).strip():
            pass
        return body

    def exactly(self, length: int) -> bytes:
        read = self.rfile.read(length)
        if len(read) < length:
            raise ValueError("the body broke off")
        return read

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        if status == 405:
            self.send_header("Allow", "POST")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, *client: object) -> None:
        # A client that hung up is no error of ours.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*client)


server = Server(("127.0.0.1", 0), Receiver)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
