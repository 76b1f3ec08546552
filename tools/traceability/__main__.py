"""Write docs/traceability.md: `python -m tools.traceability`."""

from tools.traceability.page import write_page

if __name__ == "__main__":
    write_page()
