"""`python -m svmgsu.cli`."""

import sys

from . import main

sys.exit(main())
