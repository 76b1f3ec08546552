"""Write docs/traceability.md: `python -m tools.traceability`."""

from tools import ROOT
from tools.traceability.links import suite_trace
from tools.traceability.page import traceability_page

if __name__ == "__main__":
    (ROOT / "docs" / "traceability.md").write_text(traceability_page(suite_trace()), "utf-8")
