"""``python -m bbgm``."""

import sys

from bbgm.cli import main

sys.exit(main())
