"""The options of commands that say how to get in to a server: see `runs.targets.access.Access`."""

from __future__ import annotations

from typing import Any

import click
import cloup

from v2_conformance.cli.command import FILE


def _rate(value: Any) -> float:
    """A type of option: requests per second."""
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"expected a number of requests, got {value[:40]!r}") from None


# The names of the parameters are those of `Access`.
ACCESS = cloup.option_group(
    "Access",
    cloup.option(
        "--bearer-env",
        metavar="NAME",
        help="Send the token in this environment variable as `Authorization: Bearer …`. It is a "
        "secret, as all credentials are.",
    ),
    cloup.option(
        "--bearer-file", type=FILE, metavar="FILE", help="The same, with a token in a file."
    ),
    cloup.option(
        "--basic-env",
        metavar="NAME",
        help="Send USER:PASSWORD in this environment variable as `Authorization: Basic …`.",
    ),
    cloup.option(
        "--basic-file",
        type=FILE,
        metavar="FILE",
        help="The same, with USER:PASSWORD in a file.",
    ),
    cloup.option(
        "--host-header",
        "host",
        metavar="HOST",
        help="Send this Host, by which a gateway may choose the server, instead of that of the "
        "URL.",
    ),
    cloup.option(
        "--cacert",
        type=FILE,
        metavar="FILE",
        help="Trust the certificate authorities in this PEM file.  [default: those of the system, "
        "or of SSL_CERT_FILE]",
    ),
    cloup.option(
        "--cert",
        type=FILE,
        metavar="FILE",
        help="Present this client certificate, in PEM, with its private key unless --key is given.",
    ),
    cloup.option("--key", type=FILE, metavar="FILE", help="The private key of --cert, in PEM."),
    cloup.option(
        "--rate",
        type=_rate,
        metavar="N",
        help="Send at most N requests per second.",
    ),
    cloup.option(
        "--http2",
        is_flag=True,
        help="Speak HTTP/2: over https as ALPN says, over http by prior knowledge. Cases that are "
        "about HTTP/1.1 alone are not applicable then, and the verdict says so.",
    ),
)
