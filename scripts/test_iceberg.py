"""Releases into and from tables of Iceberg, read back by pyiceberg and DuckDB.

    test_iceberg.py PROGRAM FOLDER

Of a SQL catalog with SDLFILTER_TEST_POSTGRES, and in object storage also with AWS_ENDPOINT_URL_S3 and a bucket, lake.
"""

import base64
import collections
import hashlib
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys
import urllib.parse

import duckdb
import pyarrow as pa
import pyarrow.parquet
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
random.seed(3)
TOKEN = "t0ken"
POSTGRES = os.environ.get("SDLFILTER_TEST_POSTGRES", "")
S3, KEY, SECRET = (os.environ.get(n, "") for n in ("AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
REGIONS = ["north", "south", "east"]


def rows(n, first=0):
    return [
        {"name": f"CANARY{first + i}", "region": random.choice(REGIONS), "age": random.randint(18, 80), "wage": random.randint(100000, 900000) / 100}
        for i in range(n)
    ]


def arrow(records):
    return pa.Table.from_pylist(records, pa.schema([("name", pa.string()), ("region", pa.string()), ("age", pa.int64()), ("wage", pa.float64())]))


def run(source, sink, columns=None, fails="", withheld=False, **more):
    """A run with noise on wage; the configuration is JSON, which is YAML."""
    config = {
        "version": 1,
        "name": "iceberg",
        "source": source,
        "key": {"file": str(folder / "key")},
        "columns": columns or {"name": {"role": "identifier"}, "region": {"role": "key"}, "age": {"role": "key"}, "wage": {"role": "sensitive"}},
        "masks": [{"noise": {"columns": ["wage"], "sd": 90}}],
        "sink": sink,
        "report": {"json": str(folder / "report.json")},
        **more,
    }
    (folder / "p.yaml").write_text(json.dumps(config))
    done = subprocess.run([program, "run", str(folder / "p.yaml")], env={**os.environ, "TOKEN": TOKEN}, capture_output=True, text=True, check=False)
    if fails:
        assert done.returncode and fails in done.stderr, (done.returncode, done.stderr)
    else:
        assert done.returncode == (4 if withheld else 0), done.stderr + done.stdout
    assert "CANARY" not in done.stdout + done.stderr
    return done


def same(got, want, what):
    """Two tables hold the same records, in whatever order."""
    key = lambda r: tuple(r[c] for c in ("region", "age", "wage"))
    a, b = collections.Counter(map(key, got)), collections.Counter(map(key, want))
    assert a == b, f"{what}: {len(got)} records, want {len(want)}; {list((a - b).items())[:3]} and {list((b - a).items())[:3]}"
    print("ok:", what, len(got))


def whole(path):
    """A folder holds no withheld value, in no file and no manifest."""
    for at in path.rglob("*"):
        if at.is_file():
            assert b"CANARY" not in at.read_bytes(), at
    table = StaticTable.from_metadata(str(path))
    for snapshot in table.snapshots():
        for manifest in snapshot.manifests(table.io):
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
                text = repr(entry.data_file) + repr({k: bytes(v) for k, v in (entry.data_file.lower_bounds or {}).items()})
                assert "CANARY" not in text, text
    assert not [p for p in path.rglob(".*")], "temporary files are left"
    return table


def duck():
    con = duckdb.connect()
    for name in ("httpfs", "avro", "iceberg"):
        at = next(pathlib.Path(importlib.util.find_spec("duckdb_extension_" + name).submodule_search_locations[0]).rglob("*.duckdb_extension"))
        con.execute(f"LOAD '{at}'")
    if S3:
        con.execute(f"CREATE SECRET (TYPE s3, KEY_ID '{KEY}', SECRET '{SECRET}', REGION 'us-east-1', ENDPOINT '{S3.removeprefix('http://')}', USE_SSL false, URL_STYLE 'path')")
    return con


def csv(records, name):
    at = folder / name
    at.write_text("name,region,age,wage\n" + "".join(f"{r['name']},{r['region']},{r['age']},{r['wage']}\n" for r in records))
    return {"csv": {"path": str(at)}}


def files():
    """A table in a folder: all modes, read back by both."""
    one, two = csv(rows(5000), "one.csv"), csv(rows(300, 9000), "two.csv")
    path = folder / "released"
    wanted = []
    for source, name in ((one, "a.parquet"), (two, "b.parquet")):
        run(source, {"parquet": {"path": str(folder / name)}})
        wanted.append(duckdb.sql(f"select * from '{folder / name}'").to_arrow_table().to_pylist())
    run(two, {"iceberg": {"path": str(path)}})
    run(one, {"iceberg": {"path": str(path)}})
    same(whole(path).scan().to_arrow().to_pylist(), wanted[0], "overwrite, pyiceberg")
    run(two, {"iceberg": {"path": str(path), "mode": "append"}})
    table = whole(path)
    same(table.scan().to_arrow().to_pylist(), wanted[0] + wanted[1], "append, pyiceberg")
    same(table.scan(row_filter="age > 40").to_arrow().to_pylist(), [r for r in wanted[0] + wanted[1] if r["age"] > 40], "by bounds, pyiceberg")
    first = table.snapshots()[0].snapshot_id
    same(table.scan(snapshot_id=first).to_arrow().to_pylist(), wanted[1], "an earlier snapshot, pyiceberg")
    con = duck()
    same(con.execute(f"select * from iceberg_scan('{path}')").to_arrow_table().to_pylist(), wanted[0] + wanted[1], "append, DuckDB")
    same(con.execute(f"select * from iceberg_scan('{path}') where wage > 5000").to_arrow_table().to_pylist(), [r for r in wanted[0] + wanted[1] if r["wage"] > 5000], "by bounds, DuckDB")
    # The gate refuses: no snapshot, no file.
    before = sorted(path.rglob("*"))
    run(two, {"iceberg": {"path": str(path)}}, withheld=True, gate={"rules": [{"column": "wage", "knowledge": "index", "min_rmse": 1e6}]})
    assert sorted(path.rglob("*")) == before
    print("ok: a withheld release leaves nothing")


def catalogs():
    """Tables of a REST catalog, made and changed by pyiceberg."""
    server = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("iceberg_rest.py")), str(folder), TOKEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        catalog.create_namespace("survey")
        schema = Schema(
            NestedField(1, "name", StringType()), NestedField(2, "area", StringType()), NestedField(3, "age", LongType()), NestedField(4, "wage", DoubleType()), NestedField(5, "old", LongType())
        )
        spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "area"))
        source = catalog.create_table("survey.income", schema, partition_spec=spec)
        every = []
        for first in (0, 2000):
            batch = rows(2000, first)
            every += batch
            source.append(pa.Table.from_pylist([{"name": r["name"], "area": r["region"], "age": r["age"], "wage": r["wage"], "old": 1} for r in batch]))
        before = source.current_snapshot().snapshot_id
        with source.update_schema() as change:
            change.rename_column("area", "region")
            change.delete_column("old")
        source.delete("age < 20")  # files are written anew
        left = [r for r in every if r["age"] >= 20]
        at = {"catalog": url, "table": "survey.income", "token": {"env": "TOKEN"}}
        to = lambda table, **more: {"iceberg": {"catalog": url, "table": table, "token": {"env": "TOKEN"}, **more}}

        # Draws depend on a record's place: records are compared by what no mask touches.
        def alike(table, records, what):
            key = lambda r: (r["region"], r["age"])
            got = catalog.load_table(table).scan().to_arrow().to_pylist()
            assert collections.Counter(map(key, got)) == collections.Counter(map(key, records)), (what, len(got), len(records))
            print("ok:", what, len(got))
            return got

        run({"iceberg": at}, to("survey.released"))
        got = alike("survey.released", left, "renamed and dropped columns, deleted records, from REST to REST")
        assert len({r["wage"] for r in got} & {r["wage"] for r in every}) < 100, "wages are released as they are"
        run({"iceberg": {**at, "snapshot": before}}, to("survey.earlier"), columns={"name": {"role": "identifier"}, "area": {"role": "key"}, "age": {"role": "key"}, "old": {"role": "identifier"}, "wage": {"role": "sensitive"}})
        assert len(catalog.load_table("survey.earlier").scan().to_arrow()) == 4000
        print("ok: an earlier snapshot by REST")
        run({"iceberg": at}, to("survey.income"), fails="the table that it is made of")
        run({"iceberg": at}, to("none.released"), fails="no namespace")
        # A partitioned table.
        schema = Schema(NestedField(1, "region", StringType()), NestedField(2, "age", LongType()), NestedField(3, "wage", DoubleType()))
        catalog.create_table("survey.parted", schema, partition_spec=PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "region")))
        run({"iceberg": at}, to("survey.parted"))
        alike("survey.parted", left, "a partitioned table")
        north = [r for r in rows(50, 7000) if r["region"] == "north"]
        run(csv(north, "north.csv"), to("survey.parted", mode="partitions"))
        alike("survey.parted", [r for r in left if r["region"] != "north"] + north, "one partition replaced")
        parts = catalog.load_table("survey.parted").inspect.partitions().to_pylist()
        assert {p["partition"]["region"] for p in parts} == set(REGIONS), parts
        for name in ("released", "parted"):
            for at in (folder / "warehouse" / "survey.db" / name).rglob("*"):
                assert not at.is_file() or b"CANARY" not in at.read_bytes(), at
                assert not at.name.startswith("."), at
    finally:
        server.stdin.close()
        server.wait()


def lake():
    """Tables of a SQL catalog in PostgreSQL, in object storage and on this machine; and in object storage of a REST catalog."""
    password = os.environ["SDLFILTER_TEST_POSTGRES_PASSWORD"]
    uri = urllib.parse.urlparse(POSTGRES)
    store = {"s3.endpoint": S3, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
    catalog = SqlCatalog("lake", uri=f"postgresql+psycopg2://{uri.username}:{password}@{uri.hostname}:{uri.port}{uri.path}", warehouse="s3://lake/warehouse", **store)
    catalog.create_namespace("closed")
    catalog.create_namespace("open", {"location": "s3://lake/open"})
    catalog.create_namespace("here")
    place = lambda table, **more: {"iceberg": {"catalog": POSTGRES, "warehouse": "lake", "table": table, "password": {"env": "SDLFILTER_TEST_POSTGRES_PASSWORD"}, **more}}
    key = lambda r: (r["region"], r["age"])
    con = duck()

    def alike(table, records, what):
        got = catalog.load_table(table)
        for n, read in (("pyiceberg", got.scan().to_arrow().to_pylist()), ("DuckDB", con.execute(f"select * from iceberg_scan('{got.metadata_location}')").to_arrow_table().to_pylist())):
            assert collections.Counter(map(key, read)) == collections.Counter(map(key, records)), (what, n, len(read), len(records))
            print("ok:", what, n, len(read))
        return got

    every = rows(3000)
    closed = catalog.create_table("closed.income", arrow(every).schema)
    closed.append(arrow(every))
    run(place("closed.income"), place("open.income"))
    alike("open.income", every, "SQL to SQL, in objects")
    more = rows(40, 8000)
    run(csv(more, "more.csv"), place("open.income", mode="append"))
    # pyiceberg goes on from what the program has written, and the program from that.
    catalog.load_table("open.income").delete("age < 30")
    every = [r for r in every + more if r["age"] >= 30]
    table = alike("open.income", every, "appended, then deleted by another program")
    run(csv(more, "more.csv"), place("open.income", mode="append"))
    alike("open.income", every + more, "appended to what pyiceberg has written")
    run(place("closed.income"), place("closed.income"), fails="the table that it is made of")
    run({"parquet": {"path": "s3://lake/warehouse/closed/income/data"}}, place("closed.income"), fails="the table that it is made of")
    run(csv(more, "more.csv"), place("here.income"), fails="say where the table is to lie")
    run(csv(more, "more.csv"), place("here.income", location=str(folder / "here")))
    alike("here.income", more, "SQL, on this machine")
    run(csv(more, "more.csv"), place("open.income"), withheld=True, gate={"rules": [{"column": "wage", "knowledge": "index", "min_rmse": 1e6}]})
    alike("open.income", every + more, "after a withheld release")
    # Files that were added have no ids of fields.
    pyarrow.parquet.write_table(arrow(every), folder / "added.parquet")
    added = catalog.create_table("closed.added", arrow(every).schema, location=f"file://{folder}/added")
    added.add_files([str(folder / "added.parquet")])
    with added.update_schema() as change:
        change.rename_column("wage", "pay")
    columns = {"name": {"role": "identifier"}, "region": {"role": "key"}, "age": {"role": "key"}, "pay": {"role": "sensitive"}}
    masks = [{"noise": {"columns": ["pay"], "sd": 90}}]
    run(place("closed.added"), place("open.added"), columns=columns, masks=masks)
    alike("open.added", every, "files without ids, columns that have changed their names")
    with catalog.load_table("closed.added").update_schema() as change:
        change.rename_column("name", "wage")  # which is then the name of two columns of the file
    run(place("closed.added"), place("open.twice"), columns=columns, masks=masks, fails="are one of the table by its names")
    rest(store, every)
    for name in ("open", "warehouse/survey.db"):
        files = pyarrow.fs.S3FileSystem(access_key=KEY, secret_key=SECRET, endpoint_override=S3, region="us-east-1", scheme="http")
        names = files.get_file_info(pyarrow.fs.FileSelector("lake/" + name, recursive=True, allow_not_found=True))
        for at in names:
            if at.is_file:
                with files.open_input_stream(at.path) as f:
                    assert b"CANARY" not in f.read(), at
                assert not at.base_name.startswith(".") and not at.base_name.startswith("_"), at
        print("ok: no withheld value, and nothing but the table's files,", name, len(names))
        assert names, name


def rest(store, records):
    """A table in object storage by a REST catalog."""
    at = folder / "rest"
    at.mkdir()
    server = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("iceberg_rest.py")), str(at), TOKEN, "s3://lake/warehouse"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PROPERTIES": json.dumps(store)})
    try:
        url = server.stdout.readline().strip()
        catalog = SqlCatalog("test", uri=f"sqlite:///{at}/catalog.db", warehouse="s3://lake/warehouse", **store)
        catalog.create_namespace("survey")
        to = lambda **more: {"iceberg": {"catalog": url, "table": "survey.income", "token": {"env": "TOKEN"}, **more}}
        run(csv(records, "records.csv"), to())
        run(csv(records, "records.csv"), to(mode="append"))
        got = catalog.load_table("survey.income").scan().to_arrow().to_pylist()
        key = lambda r: (r["region"], r["age"])
        assert collections.Counter(map(key, got)) == collections.Counter(map(key, records + records))
        print("ok: REST, in objects, pyiceberg", len(got))
    finally:
        server.stdin.close()
        server.wait()


(folder / "key").write_text(base64.b64encode(hashlib.sha256(b"test").digest()).decode() + "\n")
(folder / "key").chmod(0o600)
(folder / "warehouse").mkdir(exist_ok=True)
files()
catalogs()
if POSTGRES and S3:
    lake()
