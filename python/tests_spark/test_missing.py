"""Declared codes for missing values in what Spark releases: the released values and the figures are those of the same records with nulls."""

import copy
import os
import pathlib

import pyarrow.parquet as pq
import pytest

import sdlfilter
import sdlfilter.spark

# Which records have a code, and the code; {0} is the code, or NULL in its place.
COLUMNS = [
    "id", "if(id % 9 = 0, {-9D}, wage) AS wage", "if(id % 7 = 0, {-8}, int(2000 + id % 500)) AS debt", "if(id % 11 = 0, {97 + int(id % 3)}, age) AS age",
    "if(id % 13 = 0, {'refused'}, element_at(array('north', 'south', 'east'), int(1 + id % 3))) AS region",
]

CONFIGURATION = """\
version: 1
name: codes
key: {file: test.key}
identity: [id]
source: {parquet: {path: data}}
columns:
  id: {role: other}
  wage: {role: sensitive, decimals: 2MISSING -9END}
  debt: {role: sensitiveMISSING -8END}
  age: {role: keyMISSING {from: 97, to: 99}END}
  region: {role: keyMISSING refusedEND}
masks:
  - noise: {columns: [wage, debt], sd: 20%}
  - round: {columns: [age], base: 5}
  - recode: {columns: [region], map: {north: n, south: s, east: n}}
assess: {replicates: 4}
sink: {parquet: {path: out/released}}
"""


def configure(how, path):
    text = CONFIGURATION.replace("path: data", "path: " + path)
    if how:
        text = text.replace("MISSING", ", missing: {codes: [").replace("END", f"], as: '{how}'}}")
    else:
        text = "\n".join(line.split("MISSING")[0] + (line.split("END")[1] if "END" in line else "") for line in text.splitlines()) + "\n"
    pathlib.Path("pipeline.yaml").write_text(text)


@pytest.fixture
def data(spark, work):
    """The records with codes, in the folder coded, and with nulls, in nulled."""
    made = {}
    for name in "coded", "nulled":
        path = "file://" + os.getcwd() + "/" + name
        columns = [c.replace("{", "").replace("}", "") if name == "coded" else c[:c.index("{")] + "NULL" + c[c.index("}") + 1:] if "{" in c else c for c in COLUMNS]
        spark.read.parquet("file://" + os.getcwd() + "/in").selectExpr(*columns).coalesce(3).write.parquet(path)
        made[name] = spark.read.parquet(path)
    return made


def released(path):
    return pq.read_table(path).sort_by("id").select(["id", "wage", "debt", "age", "region"]).to_pylist()


def figures(report, by_record):
    report = copy.deepcopy(report)
    for column in report["columns"].values():
        column["risk"] = [k for k in column["risk"] if by_record or k["knowledge"] != "record"]
        column.pop("remark", None)
    return report["columns"], report["records"]


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1)  # sums of shards have another order
    return a == b


def code(column, row):
    """The code that a record has in a column, or None."""
    i = row["id"]
    return {"wage": -9.0 if i % 9 == 0 else None, "debt": -8 if i % 7 == 0 else None, "age": 97 + i % 3 if i % 11 == 0 else None,
            "region": "refused" if i % 13 == 0 else None}.get(column)


def test_codes_by_spark_are_missing_values(spark, data):
    configure(None, "nulled")
    plain = sdlfilter.spark.mask(None, "pipeline.yaml", spark, shards=4)
    want = released(plain.path)
    assert sum(v is None for row in want for v in row.values()) > 5000
    for how in "null", "keep":
        configure(how, "coded")
        kept = [{k: code(k, row) if how == "keep" and code(k, row) is not None else v for k, v in row.items()} for row in want]
        for name, df in {"as planned": None, "shuffled": data["coded"].repartition(3, "age")}.items():
            got = sdlfilter.spark.mask(df, "pipeline.yaml", spark, shards=3)
            assert released(got.path) == kept, (how, name)
            if df is None:  # of other places the sample is another
                assert same(figures(got.report, how == "null"), figures(plain.report, how == "null")), how
            assert all(c["records"] > 0 for m in got.report["missing_codes"] for c in m["codes"]) and len(got.report["missing_codes"]) == 4
