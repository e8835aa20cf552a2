"""Lets ``python -m certimeans`` do what ``certimeans`` does."""

import sys

from certimeans.cli import main

sys.exit(main())
