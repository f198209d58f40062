"""The pipeline's configuration: a file, or the same as a dict.

The program alone knows what a configuration means; here only the source and the sink
are put in place of those in a file, line for line, so that its errors keep their places.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, Optional, Union

import yaml

from ._tables import Private
from .errors import ConfigurationError

Configuration = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as err:
        raise ConfigurationError(f"{path}: {err.strerror}") from None


def _root(text: str, path: str) -> yaml.MappingNode:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as err:
        mark = getattr(err, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise ConfigurationError(f"{path}{place}: is not YAML: {getattr(err, 'problem', 'it cannot be read')}") from None
    if not isinstance(root, yaml.MappingNode):
        raise ConfigurationError(f"{path}: must be a mapping of sections")
    return root


def written(config: Configuration, p: Private) -> str:
    """The path of the configuration; a dict becomes a file, as JSON, which is YAML too."""
    if isinstance(config, Mapping):
        return _written(config, p)
    return os.fspath(config)


def _written(config: Mapping[str, Any], p: Private) -> str:
    try:
        text = json.dumps(config, indent=1, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as err:
        raise ConfigurationError(f"the configuration: {err}") from None
    path = p.text("configuration.yaml", text)
    p.names[path] = "configuration"
    return path


def piped(config: Configuration, source: str, p: Private) -> str:
    """The path of a configuration whose source is Arrow at a path and whose sink is standard output."""
    return replaced(config, {"source": {"arrow": {"path": source}}, "sink": {"arrow": {"path": "-"}}}, p)


def replaced(config: Configuration, sections: Mapping[str, Mapping[str, Any]], p: Private) -> str:
    """The path of a configuration with other sections in place of its own; of a sink the order of the records stays."""
    if isinstance(config, Mapping):
        sections = {name: {**section, **(_order(config.get("sink")) if name == "sink" else {})} for name, section in sections.items()}
        return _written({**config, **sections}, p)
    path = os.fspath(config)
    text = _text(path)
    root = _root(text, path)
    if root.flow_style:
        return _written({**yaml.safe_load(text), **sections}, p)
    lines = text.split("\n")
    for key, value in reversed(root.value):
        if key.value not in sections:
            continue
        new: dict[str, Any] = dict(sections[key.value])
        if key.value == "sink":
            new.update(_order(yaml.safe_load(yaml.serialize(value))))
        first, last = key.start_mark.line, value.end_mark.line
        if value.end_mark.column > 0 and last < len(lines):
            last += 1
        lines[first:last] = [f"{key.value}: {json.dumps(new)}", *[""] * (last - first - 1)]
    names = {key.value for key, _ in root.value}
    lines += [f"{name}: {json.dumps(new)}" for name, new in sections.items() if name not in names]
    made = p.text("configuration.yaml", "\n".join(lines) + "\n")
    p.names[made] = path
    return made


def section(config: Configuration, name: str) -> Any:
    """A section as it is written, None where there is none."""
    if isinstance(config, Mapping):
        return config.get(name)
    path = os.fspath(config)
    for key, value in _root(_text(path), path).value:
        if key.value == name:
            return yaml.safe_load(yaml.serialize(value))
    return None


def _order(sink: Any) -> dict[str, Any]:
    """What of a sink holds for any: the order of the records."""
    return {"order": sink["order"]} if isinstance(sink, Mapping) and "order" in sink else {}


def report_paths(config: Configuration, given: Mapping[str, Any]) -> dict[str, Optional[str]]:
    """Where a run will write its reports, by the precedence of the program: settings, environment, file."""
    report = section(config, "report")
    report = report if isinstance(report, Mapping) else {}
    paths = {kind: path_of(f"report.{kind}", given, report.get(kind)) for kind in ("json", "html")}
    if is_object(paths["json"]):
        raise ConfigurationError(f"report.json: is read when the run has ended, so it must be a path of this machine, got {paths['json']}")
    return paths


def path_of(setting: str, given: Mapping[str, Any], written: Any) -> Optional[str]:
    """A path as the program takes it; `written` is that of the configuration, where variables are references."""
    path = given.get(setting) or os.environ.get("SDLFILTER_" + setting.upper().replace(".", "__"))
    if path:
        return str(path)
    return _expanded(setting, written) if isinstance(written, str) and written else None


def is_object(path: Optional[str]) -> bool:
    """Whether a path is of object storage."""
    return path is not None and "://" in path


_REFERENCE = re.compile(r"\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\})?")


def _expanded(setting: str, text: str) -> str:
    def value(found: "re.Match[str]") -> str:
        if found[0] == "$${":
            return "${"
        if found[1] is None:
            raise ConfigurationError(f"{setting}: must refer to ${{NAME}} or ${{NAME:-default}}, as what is written there is looked for when the run has ended, got {text}")
        known = os.environ.get(found[1])
        if found[2] and not known:
            return str(found[2])[2:]
        if known is None:
            raise ConfigurationError(f"{setting}: refers to the environment variable {found[1]}, which is not set; set it, or write ${{{found[1]}:-default}}")
        return known

    return _REFERENCE.sub(value, text)
