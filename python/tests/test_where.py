"""Masks with a condition change the records of a table that a run changes of its file, and no others."""

import datetime
import pathlib

import numpy
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sdlfilter

CONFIGURATION = """\
version: 1
name: conditions
key: {file: test.key}
identity: [id]
source: {parquet: {path: original.parquet}}
columns:
  id: {role: identifier}
  wage: {role: sensitive, decimals: 2}
  kind: {role: other}
  share: {role: other}
  region: {role: other}
  member: {role: other}
  since: {role: other}
masks: MASKS
sink: {parquet: {path: released.parquet}}
"""

# Each condition, and what it says of a record. A missing value meets none.
CONDITIONS = {
    "wage > 0": lambda r: r["wage"] is not None and r["wage"] > 0,
    "wage > 400 and wage <= 900.25": lambda r: r["wage"] is not None and 400 < r["wage"] <= 900.25,
    "kind != 2": lambda r: r["kind"] is not None and r["kind"] != 2,
    "share < -0.5": lambda r: r["share"] is not None and r["share"] < -0.5,
    "region = north": lambda r: r["region"] == "north",
    'region != "the south" and kind >= 1': lambda r: r["region"] not in (None, "the south") and r["kind"] is not None and r["kind"] >= 1,
}


@pytest.fixture
def rows(work):
    """Texts, whole and other numbers, booleans and dates; all but the booleans lack some values."""
    draw = numpy.random.default_rng(11)
    n = 3000
    lacks = draw.random((5, n)) < 0.1
    some = lambda k, values: [None if lack else v for lack, v in zip(lacks[k], values)]
    table = pa.table({
        "id": pa.array(range(n), pa.int64()),
        "wage": pa.array(some(0, numpy.where(draw.random(n) < 0.4, 0, numpy.round(draw.lognormal(6, 0.6, n), 2)).tolist()), pa.float64()),
        "kind": pa.array(some(1, draw.integers(0, 4, n).tolist()), pa.int32()),
        "share": pa.array(some(2, draw.normal(size=n).tolist()), pa.float64()),
        "region": pa.array(some(3, draw.choice(["north", "the south", "", "Öst"], n).tolist()), pa.string()),
        "member": pa.array((draw.random(n) < 0.5).tolist()),
        "since": pa.array(some(4, [datetime.date(2000, 1, 1) + datetime.timedelta(int(d)) for d in draw.integers(0, 9000, n)]), pa.date32()),
    })
    pq.write_table(table, "original.parquet")
    return table


def configure(masks):
    pathlib.Path("pipeline.yaml").write_text(CONFIGURATION.replace("MASKS", masks))


def wages(table):
    values = table["wage"].to_pylist() if hasattr(table["wage"], "to_pylist") else list(table["wage"])
    return [None if v is None or v != v else v for v in values]


def kinds(table):
    import duckdb

    assert table.num_rows > 7
    return {
        "Table": table,
        "chunks": pa.concat_tables([table.slice(0, 7), table.slice(7)]),
        "a dictionary of texts": table.set_column(4, "region", table["region"].dictionary_encode()),
        "pandas": table.to_pandas(),
        "pandas of Arrow": table.to_pandas(types_mapper=__import__("pandas").ArrowDtype),
        "polars": polars.from_arrow(table),
        "a reader": table.to_reader(max_chunksize=1000),
        "duckdb": duckdb.sql('select * from "table"'),
    }


@pytest.mark.parametrize("where", CONDITIONS)
def test_conditions_hold_in_tables_as_in_files(rows, where):
    configure(f"[{{noise: {{columns: [wage], sd: 50, where: '{where}'}}}}]")
    sdlfilter.mask_file("pipeline.yaml")
    want = wages(pq.read_table("released.parquet"))
    before, meets = wages(rows), [CONDITIONS[where](r) for r in rows.to_pylist()]
    changed = 0
    for old, new, met in zip(before, want, meets, strict=True):
        assert (old is None) == (new is None)
        assert met or old == new
        changed += met and old != new
    # Noise of 50 on two decimals leaves one of 10,000 values as it is.
    assert changed >= sum(met and old is not None for met, old in zip(meets, before)) - 3 > 100
    for name, data in kinds(rows).items():
        assert wages(sdlfilter.mask(data, "pipeline.yaml")[0]) == want, name


def test_several_conditions_on_one_column(rows):
    configure("""
  - noise: {columns: [wage], sd: 50, where: "kind >= 1 and region = north"}
  - bias: {columns: [wage], phi: 0.1, where: "wage > 500"}
  - round: {columns: [wage], base: 50, where: "share > 0"}
  - topcode: {columns: [wage], upper: 1500, where: 'region != "the south"'}""")
    sdlfilter.mask_file("pipeline.yaml")
    want = wages(pq.read_table("released.parquet"))
    assert 300 < sum(a != b for a, b in zip(want, wages(rows))) < rows.num_rows - 300
    for name, data in kinds(rows).items():
        assert wages(sdlfilter.mask(data, "pipeline.yaml")[0]) == want, name


@pytest.mark.parametrize("where, words", [
    ("member = 1", "must compare a column of numbers or texts"),
    ("since > 2010", "must compare a column of numbers or texts"),
    ("region > 3", "must compare \"region\" with"),
    ("kind = north", "must compare \"kind\" with"),
])
def test_what_cannot_be_compared_is_refused_as_by_a_run(rows, where, words):
    configure(f"[{{noise: {{columns: [wage], sd: 50, where: '{where}'}}}}]")
    with pytest.raises(sdlfilter.ConfigurationError, match=words) as of_run:
        sdlfilter.mask_file("pipeline.yaml")
    for name, data in kinds(rows).items():
        with pytest.raises(sdlfilter.ConfigurationError, match=words) as refused:
            sdlfilter.mask(data, "pipeline.yaml")
        assert str(refused.value) == str(of_run.value), name
    assert not pathlib.Path("released.parquet").exists()
