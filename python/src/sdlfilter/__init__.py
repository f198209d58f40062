"""Statistical disclosure limitation of microdata, from Python.

The work is done by the program ``sdlfilter``, which this package brings: what is
released here is to the bit what the program releases.

>>> report = sdlfilter.mask_file("pipeline.yaml")
>>> released, report = sdlfilter.mask(df, "pipeline.yaml")

A release that the gate refuses raises `Withheld`; records that could not be masked
raise the warning `QuarantineWarning`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import IO, Any, Optional

from . import _configuration, _program, _tables
from ._configuration import Configuration
from ._program import Progress, program
from ._report import Attack, Document, Map, Report, read
from .errors import ConfigurationError, Error, QuarantineWarning, Withheld

__all__ = [
    "Attack", "ConfigurationError", "Document", "Error", "Map", "QuarantineWarning", "Report", "Withheld",
    "assess", "attack", "map", "mask", "mask_file", "program",
]

RELEASED, QUARANTINED, REFUSED = 0, 3, 4


def mask_file(config: Configuration, *, set: Optional[Mapping[str, Any]] = None, allow_loosening: bool = False,
              progress: Progress = None) -> Report:
    """Runs a pipeline from files to files: ``sdlfilter run``.

    ``config`` is a path or the configuration as a dict; ``set`` are settings as
    ``{"masks.0.noise.sd": "20%"}``. Returns the report; raises `Withheld` where the
    gate refuses, `ConfigurationError` before anything is read, `Error` else.
    """
    with _tables.private() as p:
        path = _configuration.written(config, p)
        with _released(config, path, p, set, allow_loosening, progress, ["--summary", "json"], None) as run:
            summary = run.child.await_output().read()
            return run.end(_files(summary))


def mask(data: Any, config: Configuration, *, set: Optional[Mapping[str, Any]] = None, allow_loosening: bool = False,
         progress: Progress = None) -> tuple[Any, Report]:
    """Masks a table, and returns the released one with the report.

    ``data`` is a pyarrow Table, RecordBatch or RecordBatchReader, a pandas or polars
    DataFrame, or whatever has ``__arrow_c_stream__``, a DuckDB relation for instance;
    the released table is a DataFrame of the same library, else a pyarrow Table. The
    configuration's source and sink are not used, but for the sink's ``order``. A reader
    is read once, so percentages need a ``profile`` then, and swaps of scope dataset a table.
    Nothing of the released table is there before the gate has passed.
    """
    table, back = _tables.arrow(data)
    with _tables.private() as p:
        feed = None
        if _tables.once(table):
            source = "-"

            def feed(stdin: IO[bytes]) -> None:
                _tables.write(table, stdin)
        else:
            source = p.table(table, "table")
        path = _configuration.piped(config, source, p)
        with _released(config, path, p, set, allow_loosening, progress, [], feed) as run:
            released = _tables.released(run.child.await_output())
            report = run.end([])
    if released is None:
        raise Error("the program ended without a table")
    return back(released), report


def assess(original: Any, released: Any, *, id: Optional[str] = None, columns: Optional[Sequence[str]] = None,
           targets: Optional[Sequence[str]] = None) -> Report:
    """Measures risk and utility of a release that any tool made: ``sdlfilter assess``.

    The two are paths or tables, matched by position or by the column ``id``.
    """
    with _tables.private() as p:
        arguments = ["assess", "--json", "--original", _tables.path_of(original, "original", p),
                     "--released", _tables.path_of(released, "released", p)]
        arguments += _flags(id=id, columns=columns, targets=targets)
        content, _ = _program.json_of(arguments, replace=p.names)
    return Report(content)


def attack(config: Optional[Configuration] = None, *, original: Any = None, released: Any = None, control: Any = None,
           set: Optional[Mapping[str, Any]] = None, progress: Progress = None, **flags: Any) -> Attack:
    """Plays the intruder: ``sdlfilter attack``, of a configuration, or of an original and its release.

    The program's other flags are keyword arguments: ``keys=["age"]``,
    ``categorical=["sex"]``, ``knowledge="d1"``, ``one_to_one=True``. ``control`` are records of the same
    population that the release was not made of: ``aux=[["age", "sex"], ["wage"]]``, ``models=["wage ~ age"]``.
    """
    if (config is None) == (original is None):
        raise ConfigurationError("attack: give a configuration, or original (and released)")
    with _tables.private() as p:
        arguments = ["attack", "--json"]
        if config is not None:
            arguments.append(_configuration.written(config, p))
        else:
            arguments += ["--original", _tables.path_of(original, "original", p)]
            if released is not None:
                arguments += ["--released", _tables.path_of(released, "released", p)]
            if control is not None:
                arguments += ["--control", _tables.path_of(control, "control", p)]
        arguments += _flags(**flags) + _program.settings(set)
        content, _ = _program.json_of(arguments, progress=progress, replace=p.names)
    return Attack(content)


def map(config: Configuration, *, set: Optional[Mapping[str, Any]] = None, progress: Progress = None) -> Map:
    """The R-U map of a configuration: ``sdlfilter map``. Nothing is released."""
    with _tables.private() as p:
        out = p.path("map")
        arguments = ["map", _configuration.written(config, p), "--out", out, *_program.settings(set)]
        with _program.Run(arguments, progress=progress) as run:
            run.await_output().read()
            status = run.wait()
            if status != RELEASED:
                raise _program.failure(status, run.message(p.names))
        with open(os.path.join(out, "map.svg"), encoding="utf-8") as file:
            return Map(read(os.path.join(out, "map.json")), file.read())


# Flags that are given once for each element of a list.
_REPEATED = ("aux", "models", "state")


def _flags(**flags: Any) -> list[str]:
    arguments: list[str] = []
    for name, value in flags.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(flag)
        elif name in _REPEATED and isinstance(value, (list, tuple)):
            arguments += [f"{flag}={v if isinstance(v, str) else ','.join(v)}" for v in value]
        elif isinstance(value, (list, tuple)):
            arguments.append(f"{flag}={','.join(str(v) for v in value)}")
        elif isinstance(value, Mapping):
            arguments.append(f"{flag}={','.join(f'{k}={v}' for k, v in value.items())}")
        else:
            arguments.append(f"{flag}={value}")
    return arguments


def _files(summary: bytes) -> list[str]:
    import json

    try:
        files: list[str] = json.loads(summary)["files"]
        return files
    except (ValueError, KeyError):
        return []


class _released:
    """A run that ends in a release or a refusal, and its reports."""

    def __init__(self, config: Configuration, path: str, p: _tables.Private, given: Optional[Mapping[str, Any]],
                 allow_loosening: bool, progress: Progress, more: Sequence[str], feed: Any) -> None:
        self._p = p
        given = dict(given or {})
        self._paths = _configuration.report_paths(config, given)
        for kind, where in self._paths.items():
            if not where:
                self._paths[kind] = given[f"report.{kind}"] = p.path(f"report.{kind}")
        arguments = ["run", path, *more, *_program.settings(given)]
        if allow_loosening:
            arguments.append("--allow-loosening")
        self.child = _program.Run(arguments, feed=feed, progress=progress, fds=())

    def __enter__(self) -> "_released":
        self.child.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.child.__exit__(*error)

    def end(self, files: list[str]) -> Report:
        status = self.child.wait()
        message = self.child.message(self._p.names)
        if status not in (RELEASED, QUARANTINED, REFUSED):
            raise _program.failure(status, message)
        path = str(self._paths["json"])
        page = str(self._paths["html"])
        report = Report(read(path), confidential_html=_page(page), files=[f for f in files if not f.startswith(self._p.folder)],
                        public_html=_page(os.path.splitext(page)[0] + ".public.html") if status != REFUSED else None)
        if status == REFUSED:
            raise Withheld("the gate refused the release: " + "; ".join(report.broken), report)
        if status == QUARANTINED:
            warnings.warn(f"{report['records']['quarantined']:,} records could not be masked and are in quarantine",
                          QuarantineWarning, stacklevel=4)
        return report


def _page(path: str) -> Optional[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None
