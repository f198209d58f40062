import base64
import hashlib
import pathlib

import numpy
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sdlfilter

# One key for ever: with one of its own a run would end otherwise from time to time.
KEY = base64.b64encode(hashlib.sha256(b"the tests of sdlfilter").digest()).decode()


@pytest.fixture
def work(tmp_path, monkeypatch):
    """An empty folder to work in, with a key."""
    monkeypatch.chdir(tmp_path)
    key = pathlib.Path("test.key")
    key.touch(0o600)
    key.write_text(KEY)
    return tmp_path


@pytest.fixture
def table():
    draw = numpy.random.default_rng(7)
    n = 20_000
    return pa.table({
        "id": pa.array(range(n), pa.int64()),
        "name": pa.array([f"canary-{i}" for i in range(n)]),
        "wage": pa.array(numpy.round(draw.lognormal(6, 0.6, n), 2)),
        "age": pa.array(draw.integers(16, 90, n), pa.int32()),
        "region": pa.array(draw.choice(["north", "south", "east"], n)),
    })


CONFIGURATION = """\
version: 1
name: test
key: {file: test.key}
identity: [id]
# what the source and the sink are does not matter to mask()
source:
  parquet:
    path: original.parquet
unlisted: drop
columns:
  id: {role: identifier}
  wage: {role: sensitive, decimals: 2}
  age: {role: key}
  region: {role: key}
masks:
  - noise: {columns: [wage], sd: 20%}
sink:
  parquet: {path: released.parquet}
gate:
  rules:
    - {column: wage, min_efficiency: 0.5}
"""


@pytest.fixture
def configuration(work, table):
    pq.write_table(table, "original.parquet")
    pathlib.Path("pipeline.yaml").write_text(CONFIGURATION)
    return "pipeline.yaml"
