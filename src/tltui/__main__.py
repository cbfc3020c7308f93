"""`python -m tltui`"""

import sys

from tltui.cli import main

if __name__ == "__main__":
    sys.exit(main())
