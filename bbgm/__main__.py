"""``python -m bbgm``."""

import sys

from bbgm.cli import main

if __name__ == "__main__":
    sys.exit(main())
