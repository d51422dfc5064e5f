"""``python -m holdfast``: the command line."""

import sys

from holdfast import main

if __name__ == "__main__":
    sys.exit(main())
