"""Declared codes for missing values in tables of every library: the figures and the released values are those of the same table with nulls."""

import copy
import pathlib

import numpy
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sdlfilter

CODES = {"wage": [-9.0, 99999.0], "debt": [-8], "age": [97, 98, 99], "region": ["refused"]}

CONFIGURATION = """\
version: 1
name: codes
key: {file: test.key}
identity: [id]
source: {parquet: {path: original.parquet}}
columns:
  id: {role: identifier}
  wage: {role: sensitive, decimals: 2MISSING -9, 99999END}
  debt: {role: sensitiveMISSING -8END}
  age: {role: keyMISSING {from: 97, to: 99}END}
  region: {role: keyMISSING refusedEND}
masks:
  - noise: {columns: [wage, debt], sd: 20%}
  - microaggregate: {columns: [age], k: 4}
  - recode: {columns: [region], map: {north: n, south: s, east: n}}
assess: {replicates: 4, sample: all}
sink: {parquet: {path: released.parquet}}
"""


def configure(how=None):
    """Writes the configuration; how is null or keep, or nothing is declared."""
    missing, end = (", missing: {codes: [", f"], as: '{how}'}}") if how else ("", "")
    lines = []
    for line in CONFIGURATION.splitlines():
        if "MISSING" in line:
            before, rest = line.split("MISSING")
            codes, after = rest.split("END")
            line = before + (missing + codes.strip() + end if how else "") + after
        lines.append(line)
    pathlib.Path("pipeline.yaml").write_text("\n".join(lines) + "\n")


def places(n):
    """For each column and record: which code stands there, or -1."""
    draw = numpy.random.default_rng(5)
    return {name: numpy.where(draw.random(n) < 0.12, draw.integers(0, len(codes), n), -1) for name, codes in CODES.items()}


def tables(n=3000):
    """The same records twice: with codes, and with nulls in their place."""
    draw = numpy.random.default_rng(3)
    at = places(n)
    values = {
        "wage": numpy.round(draw.lognormal(6, 0.6, n), 2).tolist(), "debt": draw.integers(2000, 5000, n).tolist(),  # noise makes no code of them
        "age": draw.integers(18, 90, n).tolist(), "region": draw.choice(["north", "south", "east"], n).tolist(),
    }
    types = {"wage": pa.float64(), "debt": pa.int64(), "age": pa.int32(), "region": pa.string()}
    made = []
    for keep in True, False:
        columns = {"id": pa.array(range(n), pa.int64())}
        for name, list_ in values.items():
            columns[name] = pa.array([v if k < 0 else CODES[name][k] if keep else None for v, k in zip(list_, at[name])], types[name])
        made.append(pa.table(columns))
    return made


def rows(table):
    """The released values, whatever holds them; a float that is no number is a missing one."""
    if hasattr(table, "to_arrow"):
        table = table.to_arrow()
    elif hasattr(table, "itertuples"):
        table = pa.Table.from_pandas(table, preserve_index=False)
    return [{k: None if v is None or v != v else v for k, v in row.items()} for row in table.to_pylist()]


def figures(report, by_record=True):
    """All measures; those by the whole record are others where a reader can tell codes apart."""
    report = copy.deepcopy(report)
    for column in report["columns"].values():
        column["risk"] = [k for k in column["risk"] if by_record or k["knowledge"] != "record"]
        column.pop("remark", None)
    return report["columns"], report["correlation"], report["records"]


def same(a, b):
    """Equal, figures to the last digits: a table may come in other blocks than a file."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1)
    return a == b


@pytest.mark.parametrize("how", ["null", "keep"])
def test_codes_in_tables_are_missing_values(work, how):
    coded, nulled = tables()
    configure()
    table, whole = sdlfilter.mask(nulled, "pipeline.yaml")
    want, at = rows(table), places(len(coded))
    assert sum(v is None for row in want for v in row.values()) > 1000
    kept = [{name: CODES[name][at[name][i]] if how == "keep" and at[name][i] >= 0 else v for name, v in row.items()} for i, row in enumerate(want)]
    configure(how)
    pq.write_table(coded, "original.parquet")
    sdlfilter.mask_file("pipeline.yaml")
    assert rows(pq.read_table("released.parquet")) == kept
    for name, form in {
        "a Table": lambda t: t, "a dictionary of texts": lambda t: t.set_column(4, "region", t["region"].dictionary_encode()),
        "pandas": lambda t: t.to_pandas(), "polars": polars.from_arrow, "chunks": lambda t: pa.concat_tables([t.slice(0, 7), t.slice(7)]),
    }.items():
        plain = whole
        if name != "pandas":  # in which whole numbers beside missing ones are floats
            configure()
            table, plain = sdlfilter.mask(form(nulled), "pipeline.yaml")
            assert rows(table) == want, name
        configure(how)
        table, report = sdlfilter.mask(form(coded), "pipeline.yaml")
        assert rows(table) == kept, name
        assert same(figures(report, how == "null"), figures(plain, how == "null")), name
        counted = {m["column"]: sum(c["records"] for c in m["codes"]) for m in report["missing_codes"]}
        assert counted == {column: int((k >= 0).sum()) for column, k in at.items()}, name
