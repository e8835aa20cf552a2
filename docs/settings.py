"""Write docs/settings.md, the table of settings, from the dataclasses themselves.

python docs/settings.py           # write the page
python docs/settings.py --check   # say whether the page is up to date
"""

import sys
from itertools import groupby
from pathlib import Path

from certimeans.settings import describe_settings

PAGE = Path(__file__).with_name("settings.md")
HEAD = """\
# Settings

How the parts of the solver work, for experiments. None of these changes what is proven, only how fast. They are fields
of `certimeans.SolverSettings`, and tables of a TOML file; either is passed as `solve(..., settings=...)`, a file
also as `certimeans solve --settings FILE`:

```text
[root_search]
n_searches = 1000

[cutting_planes.admm]
over_relaxation = 1.5
```

In Python the settings are frozen dataclasses, so a change makes new ones:

```python
from dataclasses import replace
from certimeans import SolverSettings, solve

defaults = SolverSettings()
settings = replace(defaults, root_search=replace(defaults.root_search, n_searches=1000))
result = solve([[0.0], [1.0], [5.0]], 2, settings=settings)
```

What a file leaves out keeps its default; a name that does not exist is refused, with the nearest one that does. The
tables below are made from the code by `docs/settings.py`; do not edit them.
"""


def page() -> str:
    """Return the whole page: a section per table, a row for fields that are explained together."""
    lines = []
    for table, rows in groupby(describe_settings(), key=lambda row: row.table):
        lines += ["", f"## {table or 'Outside any table'}", "", "| setting | default | meaning |", "|---|---|---|"]
        for row in rows:
            names = ", ".join(f"`{name}`" for name in row.names)
            defaults = ", ".join("none" if value is None or value == () else f"{value}" for value in row.defaults)
            meaning = row.meaning.replace("``", "`").replace("|", "\\|")
            lines.append(f"| {names} | {defaults} | {meaning} |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.name} is out of date: run 'make docs' or 'python docs/settings.py'")
