"""The models of models.json on HTTP, without a framework: `python server.py 8000`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from identity import check, infer

LENGTH = "Inference-Header-Content-Length"
MODELS = json.loads(Path(__file__).with_name("models.json").read_text())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        try:
            self.close_connection |= "close" in self.headers.get("Connection", "").lower()
            self.answer(self.body())
        except Exception as error:  # to copy has no errors, so the request is wrong
            self.close_connection = True
            self.send_error(400, f"{type(error).__name__}: {error}")

    do_GET = do_HEAD = do_POST

    def parse_request(self):
        parsed = super().parse_request()
        self.close_connection &= bool(self.raw_requestline.strip())  # an empty line comes first
        return parsed

    def answer(self, body):
        match unquote(urlsplit(self.path).path).replace("/versions/1", "").split("/"):
            case ["", "v2"]:
                extensions = ["binary_tensor_data"]
                self.reply(200, {"name": "identity", "version": "1", "extensions": extensions})
            case ["", "v2", "health", "live" | "ready"]:
                self.reply(200, {})
            case ["", "v2", "models", name, "infer"] if name in MODELS:
                length = number(self.headers.get_all(LENGTH), len(body))
                self.send(200, *infer(MODELS[name], body, length))
            case ["", "v2", "models", name, *rest] if name in MODELS and rest in ([], ["ready"]):
                self.reply(200, MODELS[name])
            case _:
                self.reply(404, {"error": "there is nothing here"})

    def body(self):
        lengths, coding = self.headers.get_all("Content-Length"), self.headers["Transfer-Encoding"]
        check(not self.headers.defects and not (lengths and coding), "a broken head")
        if coding is None:
            return self.rfile.read(number(lengths, 0))
        chunks = []
        while size := hexadecimal(self.rfile.readline(999).partition(b";")[0].strip()):
            chunks.append(self.rfile.read(size))
            self.rfile.readline(3)
        while self.rfile.readline(9999).strip():  # trailers
            pass
        return b"".join(chunks)

    def send_error(self, code, message=None, explain=None):
        self.reply(code, {"error": str(message)})

    def reply(self, status, document):
        self.send(status, json.dumps(document).encode())

    def send(self, status, body, at=None):
        self.send_response(status)
        self.send_header("Content-Type", f"application/{'json' if at is None else 'octet-stream'}")
        self.send_header("Content-Length", str(len(body)))
        if at is not None:
            self.send_header(LENGTH, str(at))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def number(values, default):
    """Return what the values of a header field say, all of which must agree."""
    texts = {value.strip(" \t") for value in values or [str(default)]}
    check(len(texts) == 1 and all(text.isascii() and text.isdigit() for text in texts), "no length")
    return int(texts.pop())


def hexadecimal(text):
    check(text.isalnum() and b"x" not in text.lower(), "no size of a chunk")
    return int(text, 16)


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(f"serving on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
