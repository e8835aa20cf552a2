"""A step that takes no time: writes the files that it is told to, and fails if a file called ``broken`` is there."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    out = Path(os.environ["CERTIMEANS_BENCH_OUT"])
    print("told:", *sys.argv[1:])
    for name in sys.argv[1:]:
        (out / ("images" if name.endswith(".png") else "results") / name).write_text(name, encoding="utf-8")
    sys.exit(3 if (out / "broken").exists() else 0)
