"""Time from the start of `v2-conformance run URL` to its first inference request, as JSON.

The server here answers every GET as if it had every model, and the first POST stops the clock.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sizes import size

ROUNDS = size(5, 1)
METADATA = {"name": "startup", "version": "1", "extensions": ["binary_tensor_data"]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise each response, which is two writes, waits for the client's ACK.
    disable_nagle_algorithm = True
    first_post = threading.Event()

    def do_GET(self) -> None:
        body = json.dumps(METADATA if self.path == "/v2" else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.first_post.set()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: standard error belongs to the benchmark."""


def main() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        times = [_once(url) for _ in range(ROUNDS)]
        server.shutdown()
    print(json.dumps({"median_s": statistics.median(times), "worst_s": max(times)}))


def _once(url: str) -> float:
    _Handler.first_post.clear()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "v2_conformance", "run", url, "--report-dir", folder]
        started = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                assert _Handler.first_post.wait(60), "no inference request arrived"
                return time.perf_counter() - started
            finally:
                process.kill()


if __name__ == "__main__":
    main()
