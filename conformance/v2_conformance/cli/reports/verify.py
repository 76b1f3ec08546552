"""The command `verify`: judges a report again from its own bytes."""

from __future__ import annotations

from datetime import datetime, timezone

from v2_conformance.cli.command import command
from v2_conformance.errors import UsageError
from v2_conformance.options.reports import VerifyOptions


@command(
    "verify",
    VerifyOptions,
    examples={
        "v2-conformance verify report.json": "Check a published report.",
        "v2-conformance verify report.json --allowed-signers signers": (
            "Check also who signed it, by report.json.sig beside it."
        ),
    },
    exit_codes={
        0: "The verdict holds: judged again from the recorded bytes, every result is as reported.",
        1: "The verdict does not hold: the report was edited, a case or the verdict comes out "
        "differently, or the signature is not for this report.",
        2: "The verdict cannot be confirmed here: the report cannot be read, another version or "
        "catalogue made it, or nobody who may sign it did.",
    },
)
def verify(options: VerifyOptions) -> int:
    """Judge a report again from its recorded bytes, without a server.

    Prints every case that comes out differently, and what had to be taken on trust because the
    bytes cannot show it.
    """
    from v2_conformance.formats.text.verification import verification_lines
    from v2_conformance.suite.library import every_case
    from v2_conformance.terminal_safe_text import wrapped
    from v2_conformance.verifying import verification
    from v2_conformance.verifying.signatures.allowed_signers import read_allowed_signers
    from v2_conformance.verifying.signatures.signature import check_signature

    if options.report.is_dir():
        raise UsageError(f"{options.report} is a folder: name the report.json in it")
    signers = (
        None if options.allowed_signers is None else read_allowed_signers(options.allowed_signers)
    )
    found = verification.verify(options.report, every_case())
    for line in verification_lines(found):
        print(line)
    if signers is None:
        return found.exit_code
    signed = check_signature(found, signers, datetime.now(timezone.utc))
    for line in wrapped(signed.words, "  "):
        print(line)
    codes = (found.exit_code, signed.exit_code)
    return 1 if 1 in codes else max(codes)
