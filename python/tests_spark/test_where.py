"""Masks with a condition change the records by Spark that one run changes, and no others."""

import os
import pathlib

import pyarrow.parquet as pq
import pytest

import sdlfilter
import sdlfilter.spark

# Texts, whole and other numbers, booleans, dates and moments, with values that are missing, and the same from a run of the program.
COLUMNS = [
    "id", "if(id % 9 = 0, NULL, if(id % 4 = 0, 0D, wage)) AS wage", "if(id % 7 = 0, NULL, int(id % 4)) AS kind", "if(id % 5 = 0, NULL, sin(id)) AS share",
    "if(id % 11 = 0, NULL, element_at(array('north', 'the south', '', 'Öst'), int(1 + id DIV 3 % 4))) AS region", "id % 2 = 0 AS member",
    "if(id % 13 = 0, NULL, date_add(date'2020-02-28', int(id % 4000) - 2000)) AS since",
]

CONFIGURATION = """\
version: 1
name: conditions
key: {file: test.key}
identity: [id]
source: {parquet: {path: data}}
columns:
  id: {role: other}
  wage: {role: sensitive, decimals: 2}
  kind: {role: other}
  share: {role: other}
  region: {role: other}
  member: {role: other}
  since: {role: other}
masks: MASKS
sink: {parquet: {path: out/released}}
"""


def released(path):
    return pq.read_table(path).sort_by("id").select(["id", "wage"]).to_pydict()


@pytest.fixture
def data(spark, work):
    df = spark.read.parquet("file://" + os.getcwd() + "/in").selectExpr(*COLUMNS)
    df.coalesce(3).write.parquet("file://" + os.getcwd() + "/data")
    return spark.read.parquet("file://" + os.getcwd() + "/data")


def configure(masks):
    pathlib.Path("pipeline.yaml").write_text(CONFIGURATION.replace("MASKS", masks))


def test_conditions_by_spark_are_those_of_a_run(spark, data):
    rows = {row.id: row for row in data.collect()}
    for where, meets in {
        "wage > 0": lambda r: r.wage is not None and r.wage > 0,
        "kind != 2": lambda r: r.kind is not None and r.kind != 2,
        'region != "the south" and share < 0.5': lambda r: r.region not in (None, "the south") and r.share is not None and r.share < 0.5,
    }.items():
        configure(f"[{{noise: {{columns: [wage], sd: 50, where: '{where}'}}}}]")
        sdlfilter.mask_file("pipeline.yaml", set={"sink.parquet.path": "single/"})
        want = released("single")
        changed = {id for id, wage in zip(want["id"], want["wage"]) if wage != rows[id].wage}
        met = {id for id, row in rows.items() if meets(row) and row.wage is not None}
        # Noise of 50 on two decimals leaves one of 10,000 values as it is.
        assert changed <= met and len(met - changed) <= 12 and 3000 < len(met) < len(rows) - 3000, where
        assert released(sdlfilter.spark.mask(None, "pipeline.yaml", spark, shards=4).path) == want, where
        for name, df in {"as read": data, "shuffled": data.repartition(4, "kind").union(data.limit(0))}.items():
            assert released(sdlfilter.spark.mask(df, "pipeline.yaml", spark, shards=3).path) == want, (where, name)


def test_several_conditions_by_spark(spark, data):
    configure("""
  - noise: {columns: [wage], sd: 50, where: "kind >= 1 and region = north"}
  - bias: {columns: [wage], phi: 0.1, where: "wage > 500"}
  - round: {columns: [wage], base: 50, where: "share > 0"}""")
    sdlfilter.mask_file("pipeline.yaml", set={"sink.parquet.path": "single/"})
    want = released("single")
    assert want["wage"] != [row.wage for row in data.orderBy("id").collect()]
    assert released(sdlfilter.spark.mask(None, "pipeline.yaml", spark, shards=4).path) == want
    assert released(sdlfilter.spark.mask(data.repartition(4, "kind").union(data.limit(0)), "pipeline.yaml", spark).path) == want


def test_booleans_and_dates_are_refused_by_spark(spark, data):
    for where in ("member = 1", "since > 2010"):
        configure(f"[{{noise: {{columns: [wage], sd: 50, where: '{where}'}}}}]")
        for df in (None, data):
            with pytest.raises(sdlfilter.ConfigurationError, match="must compare a column of numbers or texts"):
                sdlfilter.spark.mask(df, "pipeline.yaml", spark)
        assert not os.path.exists("out/released")
