"""nginx, HAProxy and Caddy from the system's packages, in front of a server, on free ports.

`default` is the least that a gateway's manual needs for a reverse proxy, `tuned` what
docs/gateways.md recommends. The others are what gateways often do beside that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import create_connection, create_server
from string import Formatter
from urllib.parse import urlsplit

import trustme

READY_WITHIN_S = 15.0
USER, PASSWORD = "models", "a-password-of-the-tests"
PREFIX = "/behind/it"
_POLL_S = 0.02

_TEXTS = {
    "nginx": """\
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  upstream models {{
    server {server};
    {upstream}
  }}
  server {{
    listen 127.0.0.1:{port}{listen};
    {site}
    location {at}/ {{
      proxy_pass http://models{to};
      {location}
    }}
  }}
}}
""",
    "haproxy": """\
global
  maxconn 200
{top}
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
{defaults}
frontend clients
  bind 127.0.0.1:{port}{listen}
{site}
  default_backend models
backend models
{backend}
  server one {server}
""",
    "caddy": """\
{{
  admin off
  auto_https off
  storage file_system {folder}/storage
}}
{scheme}://127.0.0.1:{port} {{
{site}
{open}
  reverse_proxy {server} {{
{proxy}
  }}
{close}
}}
""",
}
_COMMANDS = {
    "nginx": ("nginx", "-p", "{folder}", "-e", "{folder}/error.log", "-c", "{file}"),
    "haproxy": ("haproxy", "-db", "-f", "{file}"),
    "caddy": ("caddy", "run", "--config", "{file}", "--adapter", "caddyfile"),
}
_NGINX_TUNED = {
    "upstream": "keepalive 16;",
    "location": """client_max_body_size 0;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_request_buffering off;
      proxy_buffering off;
      proxy_next_upstream off;""",
}
# Of PASSWORD, as `caddy hash-password` writes it, but at the lowest cost: each request pays it.
_BCRYPT = "$2b$04$jP5OZvXOPUlXvM7mowycSOlTxSK9BKbSbzHBmI09wXN8YzOvUNjjq"
_CERTIFICATE = "{folder}/certificate.pem"
_EMPTY = {
    name: ""
    for text in _TEXTS.values()
    for _, name, _, _ in Formatter().parse(text)
    if name and name not in ("folder", "port", "server")
}


@dataclass(frozen=True)
class Setup:
    """One configuration of a gateway: what is in the places of its file."""

    gateway: str
    name: str
    places: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    tls: bool = False
    password: bool = False

    @property
    def installed(self) -> bool:
        """Whether the gateway's program is there."""
        return program(self.gateway) is not None

    def __str__(self) -> str:
        return f"{self.gateway}-{self.name}"


SETUPS = (
    Setup("nginx", "default"),
    Setup("nginx", "tuned", _NGINX_TUNED),
    Setup(
        "nginx",
        "tls",
        {
            "listen": " ssl",
            "site": f"ssl_certificate {_CERTIFICATE}; ssl_certificate_key {_CERTIFICATE};",
        },
        tls=True,
    ),
    Setup("nginx", "path-prefix", {"at": PREFIX, "to": "/"}, prefix=PREFIX),
    Setup(
        "nginx",
        "basic-auth",
        {"location": 'auth_basic "models"; auth_basic_user_file {folder}/users;'},
        password=True,
    ),
    Setup(
        "nginx",
        "http-1.0-upstream",
        {"location": "client_max_body_size 0; proxy_http_version 1.0;"},
    ),
    Setup(
        "nginx",
        "upstream-keep-alive",
        {
            "upstream": "keepalive 16;",
            "location": 'proxy_http_version 1.1; proxy_set_header Connection "";',
        },
    ),
    Setup("nginx", "body-limit", {"site": "client_max_body_size 64k;"}),
    Setup(
        "nginx",
        "gzip",
        {
            "site": "gzip on; gzip_types *; gzip_proxied any; gzip_min_length 1;"
            " gzip_http_version 1.0;"
        },
    ),
    Setup("haproxy", "default"),
    Setup(
        "haproxy",
        "tuned",
        {"defaults": "  option http-keep-alive", "backend": "  http-reuse never\n  retries 0"},
    ),
    Setup("haproxy", "tls", {"listen": f" ssl crt {_CERTIFICATE}"}, tls=True),
    Setup(
        "haproxy",
        "path-prefix",
        {"site": f"  http-request replace-path {PREFIX}(/.*) \\1"},
        prefix=PREFIX,
    ),
    Setup(
        "haproxy",
        "basic-auth",
        {
            "top": f"userlist people\n  user {USER} insecure-password {PASSWORD}",
            "site": "  http-request auth unless {{ http_auth(people) }}",
        },
        password=True,
    ),
    Setup(
        "haproxy", "upstream-close", {"backend": "  option http-server-close\n  http-reuse never"}
    ),
    Setup("haproxy", "upstream-keep-alive", {"backend": "  http-reuse always"}),
    Setup(
        "haproxy",
        "body-limit",
        {
            "site": "  http-request deny deny_status 413"
            " if {{ req.hdr_val(content-length) gt 65536 }}"
        },
    ),
    Setup(
        "haproxy",
        "gzip",
        {
            "backend": "  compression algo gzip\n"
            "  compression type application/octet-stream application/json"
        },
    ),
    Setup("caddy", "default"),
    Setup(
        "caddy",
        "tuned",
        {
            "proxy": "    flush_interval -1\n"
            "    transport http {{\n      compression off\n      versions 1.1\n    }}"
        },
    ),
    Setup(
        "caddy",
        "tls",
        {"scheme": "https", "site": f"  tls {_CERTIFICATE} {_CERTIFICATE}"},
        tls=True,
    ),
    Setup(
        "caddy",
        "path-prefix",
        {"open": f"handle_path {PREFIX}/* {{{{", "close": "}}"},
        prefix=PREFIX,
    ),
    Setup(
        "caddy",
        "basic-auth",
        {"site": f"  basicauth {{{{\n    {USER} {_BCRYPT}\n  }}}}"},
        password=True,
    ),
    Setup(
        "caddy",
        "upstream-keep-alive-off",
        {"proxy": "    transport http {{\n      keepalive off\n    }}"},
    ),
    Setup("caddy", "body-limit", {"site": "  request_body {{\n    max_size 64KB\n  }}"}),
    Setup(
        "caddy",
        "gzip",
        {
            "site": "  encode {{\n    gzip\n    minimum_length 1\n"
            "    match {{\n      header Content-Type *\n    }}\n  }}"
        },
    ),
)


def program(gateway: str) -> str | None:
    """Where a gateway's program is, None if it is not installed. Debian has some in /usr/sbin."""
    folders = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    return shutil.which(gateway, path=folders)


@contextmanager
def running_gateway(setup: Setup, server_url: str, folder: Path) -> Iterator[str]:
    """The gateway's base URL while it runs in front of the server; its files are in `folder`.

    A URL of https has its CA in `folder`/ca.pem. Raises RuntimeError with the gateway's own words
    if it does not start.
    """
    path = program(setup.gateway)
    assert path is not None, f"{setup.gateway} is not installed"
    port = _free_port()
    config = folder / f"{setup.gateway}.conf"
    config.write_text(_configuration(setup, server_url, folder, port), "utf-8")
    _write_secrets(setup, folder)
    file = {"folder": str(folder), "file": str(config)}
    command = [path, *(word.format(**file) for word in _COMMANDS[setup.gateway][1:])]
    home = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
    log = folder / "gateway.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **home},
        )
    try:
        _await_port(process, port, log)
        user = f"{USER}:{PASSWORD}@" if setup.password else ""
        yield f"http{'s' if setup.tls else ''}://{user}127.0.0.1:{port}{setup.prefix}"
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


def configuration(setup: Setup) -> str:
    """The file of a setup as a manual shows it."""
    return _configuration(setup, "http://127.0.0.1:8000", Path("/var/lib/gateway"), 8080)


def _configuration(setup: Setup, server_url: str, folder: Path, port: int) -> str:
    places = {**_EMPTY, "scheme": "http", **setup.places}
    if os.geteuid() == 0:  # nginx's workers must be able to read the folder
        places["user"] = "user root;"
    values = {"folder": str(folder), "port": str(port), "server": urlsplit(server_url).netloc}
    filled = {name: text.format(**values) for name, text in places.items()}
    text = _TEXTS[setup.gateway].format(**filled, **values)
    return "".join(f"{line}\n" for line in text.splitlines() if line.strip())


def _write_secrets(setup: Setup, folder: Path) -> None:
    if setup.tls:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        issued = authority.issue_cert("127.0.0.1")
        issued.private_key_and_cert_chain_pem.write_to_path(str(folder / "certificate.pem"))
    if setup.password and setup.gateway == "nginx":
        users = folder / "users"
        users.write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n", "utf-8")
        users.chmod(0o644)
        folder.chmod(0o755)


def _free_port() -> int:
    with create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _await_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        with suppress(OSError), create_connection(("127.0.0.1", port), timeout=1):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_S)
            break
    raise RuntimeError(f"the gateway did not start:\n{log.read_text('utf-8', 'replace')}")
