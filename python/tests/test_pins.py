"""Random configurations: a table in Python becomes the release and the report that are pinned for a run."""

import json
import math
import os
import pathlib
import subprocess

import pyarrow as pa
import pytest

import sdlfilter

ROOT = pathlib.Path(__file__).parents[2]
TIMES = {"started", "finished", "duration_s", "seconds"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What internal/pins writes: for each configuration the file, the records, the release and the report of a run."""
    at = tmp_path_factory.mktemp("pins")
    at.chmod(0o700)
    subprocess.run(["go", "test", "-count=1", "./internal/pins", "-run", "TestWritten", "-written", str(at)],
                   cwd=ROOT, env=os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-trimpath"}, check=True)
    return at


def table(path):
    with pa.ipc.open_file(path) as file:
        return file.read_all()


def differences(at, got, want):
    """The places of a report at which two of its values differ; numbers may in the twelfth digit."""
    if want in ("Infinity", "-Infinity"):  # JSON has no such number
        want = float(want)
    if isinstance(want, dict) and isinstance(got, dict):
        return [d for name in sorted(want.keys() | got.keys() - TIMES) if name not in TIMES
                for d in differences(f"{at}/{name}", got.get(name), want.get(name))]
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [d for i, pair in enumerate(zip(got, want)) for d in differences(f"{at}/{i}", *pair)]
    if isinstance(want, (int, float)) and isinstance(got, (int, float)) and math.isclose(got, want, rel_tol=1e-11, abs_tol=1e-300):
        return []
    return [] if got == want else [f"{at}: {got!r}, in a run {want!r}"]


def test_tables_as_files(folder, monkeypatch):
    cases = sorted(folder.iterdir())
    assert len(cases) == 60
    ends = {"released": 0, "withheld": 0, "failed": 0}
    for case in cases:
        monkeypatch.chdir(case)
        want = json.loads(pathlib.Path("report.json").read_text()) if pathlib.Path("report.json").exists() else None
        pathlib.Path("report.json").unlink(missing_ok=True)
        try:
            released, report = sdlfilter.mask(table("in.arrow"), "pipeline.yaml")
        except sdlfilter.Withheld as withheld:
            ends["withheld"] += 1
            assert not want["gate"]["passed"] and not pathlib.Path("out.arrow").exists(), case
            report = withheld.report
        except sdlfilter.Error as error:
            ends["failed"] += 1
            assert pathlib.Path("error").exists(), (case, error)
            continue
        else:
            ends["released"] += 1
            assert released.equals(table("out.arrow")), case
        found = [d for name in ("records", "columns", "gate", "masks", "attack") for d in differences(name, report.get(name), want.get(name))]
        assert not found, (case, found[:5])
    print(ends)
    assert min(ends["released"], ends["withheld"]) > 5
