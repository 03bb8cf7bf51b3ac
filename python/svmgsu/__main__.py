"""`python -m svmgsu`."""

import sys

from .cli import main

sys.exit(main())
