"""Content security policy of an HTML page: the browser runs and shows only what was written into the page."""

from __future__ import annotations

import base64
import hashlib
import re

from holdfast.workloads.ground.errors import InvariantError

__all__ = ["with_policy"]

_MARK = '<meta charset="utf-8">\n'
_OWN = {
    "style-src": re.compile("<style>(.*?)</style>", re.DOTALL),
    "script-src": re.compile("<script>(.*?)</script>", re.DOTALL),
}


def with_policy(html: str, *, scripts: int) -> str:
    """Add a policy to the head of a page: no network, embedded images only, its own style and scripts by hash.

    Parameters
    ----------
    html
        Page with one style element and ``scripts`` executable script elements; browsers refuse any others, and
        attributes with code or style.
    scripts
        Number of script elements: 0 or 1.

    Raises
    ------
    InvariantError
        If there are others, because external input was interpreted as markup.
    """
    rules = ["default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'"]
    for (source, pattern), count in zip(_OWN.items(), (1, scripts), strict=True):
        found = pattern.findall(html)
        if len(found) != count:
            raise InvariantError(f"the page has {len(found)} elements for {source}, not {count}")
        for text in found:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
            rules.append(f"{source} 'sha256-{digest}'")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">\n'
    return html.replace(_MARK, _MARK + policy, 1)
