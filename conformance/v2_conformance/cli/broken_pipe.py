"""Standard output whose reader may go away, as `head` does, or cannot show every character: a
command still ends as it would."""

from __future__ import annotations

import os
from typing import Any, TextIO


class PatientOutput:
    """A stream like `stream`, but once nobody reads it any more, what is written is dropped.

    So `diff … | head` has the exit code of `diff`, and a run whose output is cut off still writes
    its report. Characters that the stream's encoding lacks become "?".
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # Click would write UTF-8 to it, past this, if the encoding is ASCII.
            raise AttributeError(name)
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write as a text stream does."""
        try:
            return self._stream.write(text)
        except UnicodeEncodeError:
            encoding = self._stream.encoding
            return self.write(text.encode(encoding, "replace").decode(encoding))
        except BrokenPipeError:
            self._let_go()
            return len(text)

    def flush(self) -> None:
        """Flush as a text stream does."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._let_go()

    def _let_go(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
