"""Write what MkDocs builds the site from, in a checkout whose root is the current folder:

python -m tools.site FOLDER && mkdocs build --strict -f FOLDER/mkdocs.yml
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.site.stage import stage

if __name__ == "__main__":
    stage(Path.cwd(), Path(sys.argv[1]))
