"""Reports as mappings, and as pages in a notebook."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from typing import Any, Optional

HEIGHT = 640  # of an inline page, in pixels


def _frame(page: str, height: int = HEIGHT) -> str:
    return (f'<iframe sandbox="" style="width:100%;height:{height}px;border:1px solid #ccc" '
            f'srcdoc="{html.escape(page, quote=True)}"></iframe>')


class Document(Mapping[str, Any]):
    """A JSON object of the program, read like a dict. Infinite numbers are floats."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = _numbers(dict(content))

    def __getitem__(self, name: str) -> Any:
        return self._content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._content.get('schema', '')}>"


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_numbers(v) for v in value]
    if value == "Infinity":
        return float("inf")
    if value == "-Infinity":
        return float("-inf")
    return value


class Report(Document):
    """The report of a run (schema ``sdlfilter.report/1``). It is confidential.

    A notebook shows the public report, since notebooks are saved with what they
    show; ``confidential_html`` is the whole one.
    """

    def __init__(self, content: Mapping[str, Any], *, public_html: Optional[str] = None,
                 confidential_html: Optional[str] = None, files: Optional[list[str]] = None) -> None:
        super().__init__(content)
        #: The public page; None where the release was withheld.
        self.public_html = public_html
        #: The confidential page.
        self.confidential_html = confidential_html
        #: What has been written, the release first.
        self.files = files or []

    @property
    def passed(self) -> bool:
        """Whether the gate let the release out."""
        return bool(self["gate"]["passed"])

    @property
    def broken(self) -> list[str]:
        """The rules that do not hold, in words."""
        return [rule["rule"] for rule in self["gate"].get("rules") or [] if not rule["passed"]]

    def __repr__(self) -> str:
        records = self["records"]
        verdict = "released" if self.passed else "withheld"
        return f"<Report {self['name']}: {verdict}, {records['released']:,} of {records['read']:,} records>"

    def _repr_html_(self) -> str:
        if self.public_html is not None:
            return _frame(self.public_html)
        rules = "".join(f"<li>{html.escape(rule)}</li>" for rule in self.broken)
        return f"<p><strong>Withheld</strong>: {html.escape(self['name'])}. These rules do not hold:</p><ul>{rules}</ul>"


class Attack(Document):
    """What the intruder achieves (schema ``sdlfilter.attack/1``)."""


class Map(Document):
    """The R-U map of a configuration (schema ``sdlfilter.map/1``).

    It is confidential, and so is its picture, which a notebook shows.
    """

    def __init__(self, content: Mapping[str, Any], svg: str) -> None:
        super().__init__(content)
        #: The picture.
        self.svg = svg

    @property
    def recommended(self) -> Optional[dict[str, Any]]:
        """The recommended point; None where no point is admissible (``reason`` says why)."""
        found = self.get("recommended")
        if not found:
            return None
        point: dict[str, Any] = self["points"][found["point"]]
        return point

    def _repr_html_(self) -> str:
        page = f"<!doctype html><title>R-U map</title>{self.svg}"
        return _frame(page)


def read(path: str) -> dict[str, Any]:
    """A JSON file."""
    with open(path, encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content
