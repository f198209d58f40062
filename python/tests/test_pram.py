"""What the note for data users says of PRAM, tried by somebody who has the release, the public report and nothing else."""
import json
import pathlib
import re

import numpy
import pyarrow as pa
import pytest

import sdlfilter

CATEGORIES = ["employed", "retired", "student", "unemployed"]
SHARES = [0.55, 0.25, 0.14, 0.06]
SURVEYS, PERSONS = 1200, 400  # every survey is a release with draws of its own

CONFIGURATION = """\
version: 1
name: pram
key: {file: test.key}
source: {parquet: {path: original.parquet}}
columns:
  survey: {role: other}
  sex: {role: other}
  job: {role: sensitive}
masks:
  - pram:
      columns: [job]
      matrix:
        employed:   {employed: 0.8, retired: 0.1, student: 0.05, unemployed: 0.05}
        retired:    {employed: 0.15, retired: 0.75, student: 0.1}
        student:    {employed: 0.1, student: 0.8, unemployed: 0.1}
        unemployed: {employed: 0.2, student: 0.1, unemployed: 0.7}
assess: {replicates: 5}
sink: {parquet: {path: released.parquet}}
report: {json: report.json, publish: [matrix]}
"""


@pytest.fixture
def survey(work):
    """One table of many surveys, and its release with the public report: read from the file, as data users do."""
    draw = numpy.random.default_rng(11)
    n = SURVEYS * PERSONS
    job = draw.choice(len(CATEGORIES), n, p=SHARES)
    sex = draw.random(n) < numpy.array([0.45, 0.5, 0.55, 0.7])[job]
    table = pa.table({"survey": numpy.repeat(numpy.arange(SURVEYS), PERSONS), "sex": sex.astype(float), "job": numpy.array(CATEGORIES)[job]})
    pathlib.Path("pipeline.yaml").write_text(CONFIGURATION)
    released, _ = sdlfilter.mask(table, "pipeline.yaml")
    public = json.loads(sdlfilter_public())
    return table, released, public


def sdlfilter_public():
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"survey": [1], "sex": [0.0], "job": ["student"]}), "original.parquet")
    raise NotImplementedError
