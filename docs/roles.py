"""A hook of MkDocs: turns the cross-references of docstrings, ``:func:`name```, into links or plain code."""

import re
from typing import Any

ROLE = re.compile(r":(?:func|class|meth|mod|attr|exc|data|obj):<code>(~?)([\w.]+)</code>")


def on_page_content(html: str, **_: Any) -> str:
    """Link each to its place on the page, if it has one; ``~`` shows the last part of the name only."""

    def link(match: re.Match[str]) -> str:
        target = match[2]
        shown = f"<code>{target.rpartition('.')[2] if match[1] else target}</code>"
        places = [f'id="{name}"' for name in (target, f"certimeans.{target}")]
        found = next((place for place in places if place in html), None)
        return shown if found is None else f'<a href="#{found[4:-1]}">{shown}</a>'

    return ROLE.sub(link, html)
