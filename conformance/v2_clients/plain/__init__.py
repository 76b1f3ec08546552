"""The plain client: what a client of the extension does, and the ground that its faults stand on.

It has the parts of any client in methods that are small enough to replace one alone: what is made
of the caller's tensors (requests_made), how it travels (connection), what is read of the answer
(responses_read). People who look for an example to copy want the adapter adapters/plain.py.
"""

from __future__ import annotations

from v2_clients.plain.plain_client import PlainClient, run_task

__all__ = ["PlainClient", "run_task"]
