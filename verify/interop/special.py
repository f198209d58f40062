"""What is more than one table in one file: metadata, folders, records that are
rejected, files of DuckDB."""

import json
import math

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import agreement
import tables
from agreement import require

IDENTIFYING = "Canary"


def cases():
    yield "no row group", no_row_group
    yield "metadata", metadata
    yield "metadata, kept", metadata_kept
    yield "hive folders", hive
    yield "hive folders, identifying", hive_withheld
    yield "folder of files", folder_of_files
    yield "glob", glob
    yield "identity", identity
    full, flat = tables.everything(500, 0.15, seed=8), tables.everything(500, 0.15, seed=9, nested=False)
    for name, table, options in (
            ("v1 none", full, {"compression": "none"}),
            ("v2 zstd", full, {"compression": "zstd", "data_page_version": "2.0"}),
            ("groups", full, {"compression": "snappy", "row_group_size": 120}),
            ("tiny pages v1", full, {"compression": "none", "data_page_size": 64, "write_batch_size": 7, "use_dictionary": False}),
            ("tiny pages v2", full, {"compression": "gzip", "data_page_size": 64, "write_batch_size": 7, "data_page_version": "2.0"}),
            ("page index", full, {"write_page_index": True, "write_page_checksum": True, "compression": "brotli", "row_group_size": 90}),
            ("encodings", flat, {"compression": "lz4", "use_dictionary": False, "column_encoding": encodings(flat, 1)}),
            ("encodings 2", flat, {"compression": "none", "use_dictionary": False, "column_encoding": encodings(flat, 2), "data_page_version": "2.0"})):
        yield f"rejected, {name}", lambda p, n=name, t=table, o=options: rejected(p, n, t, o)
    for options in ("", "PARQUET_VERSION v2", "COMPRESSION zstd, ROW_GROUP_SIZE 2048", "COMPRESSION uncompressed", "COMPRESSION gzip, PARQUET_VERSION v2",
                    "COMPRESSION brotli", "COMPRESSION lz4_raw", "COMPRESSION uncompressed, PARQUET_VERSION v2, ROW_GROUP_SIZE 2048"):
        yield f"DuckDB's Parquet {options}", lambda p, o=options: duckdb_parquet(p, o)


def encodings(table, turn):
    from pyarrow_varieties import column_encoding
    return column_encoding(table, turn)


def no_row_group(program):
    folder = program.folder("no row group")
    table = tables.everything(3, 0)
    source, release = folder / "source.parquet", folder / "release.parquet"
    pq.ParquetWriter(source, table.schema, compression="none").close()
    require(pq.ParquetFile(source).num_row_groups == 0, "the source has a row group")
    program.run(folder, table.column_names, {"parquet": {"path": source}}, {"parquet": {"path": release}})
    agreement.tables_agree(agreement.read(source), agreement.read(release))
    agreement.duckdb_agrees(source, release)
    agreement.nothing_left(table, release)


def with_metadata(folder):
    """A source with everything in its metadata that may identify."""
    table = tables.everything(300, 0.1, seed=11)
    pandas = {
        "index_columns": [{"kind": "range", "name": IDENTIFYING, "start": 4711, "stop": 5011, "step": 1}, "withheld_name"],
        "column_indexes": [{"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object", "metadata": {"encoding": IDENTIFYING}}],
        "columns": [{"name": n, "field_name": n, "pandas_type": "object", "numpy_type": "object", "metadata": {"num_categories": IDENTIFYING}}
                    for n in table.column_names],
        "creator": {"library": "pyarrow", "version": IDENTIFYING}, "attributes": {"note": IDENTIFYING}, "pandas_version": "2.2.3"}
    fields = [f.with_metadata({"note": IDENTIFYING}) for f in table.schema]
    schema = pa.schema(fields, {"pandas": json.dumps(pandas), "source": f"/home/{IDENTIFYING}/data.csv", "pleasekeep": "licence"})
    source = folder / f"{IDENTIFYING}.parquet"
    pq.write_table(table.cast(schema), source, compression="none", row_group_size=100)
    require(source.read_bytes().count(IDENTIFYING.encode()) > 5, "the source has no such metadata")
    return table, source


def metadata(program, keep=()):
    folder = program.folder(f"metadata {len(keep)}")
    table, source = with_metadata(folder)
    release = folder / "release.parquet"
    columns = {"path": source, "keep_metadata": list(keep)} if keep else {"path": source}
    program.run(folder, table.column_names, {"parquet": columns}, {"parquet": {"path": release}})
    # The sources' field metadata is dropped, so types are compared without.
    agreement.tables_agree(agreement.read(source), agreement.read(release))
    data = release.read_bytes()
    for word in (IDENTIFYING, "4711", "5011", "data.csv"):
        require(word.encode() not in data, f"{word} of the source's metadata is in the release")
    left = pq.ParquetFile(release).metadata.metadata or {}
    require(set(left) <= {b"ARROW:schema", b"pandas", *(k.encode() for k in keep)}, f"metadata under {sorted(left)}")
    for k in keep:
        require(left.get(k.encode()) == b"licence", f"metadata under {k} is gone")
    schema = pq.read_schema(release)
    require(not any(set(f.metadata or {}) - {b"PARQUET:field_id"} for f in schema), "a field has metadata")
    agreement.nothing_left(table, release)


def metadata_kept(program):
    metadata(program, ["pleasekeep"])


def by_key(table, key="row"):
    """A folder's files may be read in any order."""
    return table.sort_by(key)


def hive_source(folder, by):
    table = tables.plain(900, 0.1).append_column("row", pa.array(range(900)))
    table = table.append_column("region", pa.array([["north", "south", "é st"][i % 3] for i in range(900)]))
    table = table.append_column("withheld_district", pa.array([["Respondent-a", "Respondent-b"][i % 2] for i in range(900)]))
    source = folder / "source"
    pq.write_to_dataset(table, source, partition_cols=by)
    return table, source


def hive(program):
    folder = program.folder("hive")
    table, source = hive_source(folder, ["region"])
    release = folder / "release"
    program.run(folder, table.column_names, {"parquet": {"path": source}}, {"parquet": {"path": release}})
    read = [by_key(ds.dataset(p, format="parquet", partitioning="hive").to_table()) for p in (source, release)]
    agreement.tables_agree(read[0], read[1].select(agreement.released_names(read[0].column_names)))
    folders = [sorted(d.name for d in p.iterdir() if d.is_dir()) for p in (source, release)]
    require(folders[0] == folders[1], f"folders {folders[1]}, not {folders[0]}")
    original = by_key(duckdb.connect().sql(f"FROM read_parquet('{source}/**/*.parquet', hive_partitioning = true)").to_arrow_table())
    released = by_key(duckdb.connect().sql(f"FROM read_parquet('{release}/**/*.parquet', hive_partitioning = true)").to_arrow_table())
    agreement.tables_agree(original, released.select(agreement.released_names(original.column_names)))
    agreement.nothing_left(table, release)


def hive_withheld(program):
    """A folder's key that is an identifier is nowhere, in names and in the records' order neither."""
    folder = program.folder("hive withheld")
    table, source = hive_source(folder, ["withheld_district"])
    release = folder / "release"
    program.run(folder, table.column_names, {"parquet": {"path": source}}, {"parquet": {"path": release}}, status=2)
    require(not release.exists(), "a release whose parts are a district each is there")
    program.run(folder, table.column_names, {"parquet": {"path": source}}, {"parquet": {"path": release}, "order": "shuffled"})
    names = [str(p.relative_to(release)) for p in release.rglob("*")]
    require(not any("Respondent" in n or "withheld" in n for n in names), f"an identifier is in a name: {names}")
    read = by_key(ds.dataset(release, format="parquet").to_table())
    original = by_key(ds.dataset(source, format="parquet", partitioning="hive").to_table())
    agreement.tables_agree(original, read.select(agreement.released_names(original.column_names)))
    agreement.nothing_left(table, release)


def folder_of_files(program):
    folder = program.folder("folder")
    table = tables.everything(400, 0.1, seed=12)
    source, release = folder / "source", folder / "release"
    source.mkdir()
    for i, (codec, version) in enumerate((("none", "1.0"), ("zstd", "2.0"), ("gzip", "1.0"), ("snappy", "2.0"))):
        pq.write_table(table.slice(100 * i, 100), source / f"{IDENTIFYING}{i}.parquet", compression=codec, data_page_version=version, row_group_size=60)
    program.run(folder, table.column_names, {"parquet": {"path": source}}, {"parquet": {"path": release}})
    files = sorted(release.glob("*.parquet"))
    require(len(files) == 4, f"{len(files)} files")
    require(not any(IDENTIFYING in f.name for f in release.rglob("*")), "a source's file name is in the release")
    read = pa.concat_tables(agreement.read(f) for f in files)
    original = pa.concat_tables(agreement.read(f) for f in sorted(source.glob("*.parquet")))
    agreement.tables_agree(original, read)
    agreement.nothing_left(table, release)


def glob(program):
    folder = program.folder("glob")
    table = tables.plain(300, 0.1)
    for i in range(3):
        pq.write_table(table.slice(100 * i, 100), folder / f"part{i}.parquet")
    release = folder / "release"
    program.run(folder, table.column_names, {"parquet": {"path": folder / "part*.parquet"}}, {"parquet": {"path": release}})
    files = [release] if release.is_file() else sorted(release.glob("*.parquet"))
    agreement.tables_agree(table, pa.concat_tables(agreement.read(f) for f in files))
    agreement.nothing_left(table, release)


def identity(program):
    """With an identity column the layout of the file makes no difference."""
    folder = program.folder("identity")
    table = tables.everything(500, 0.1, seed=13, nested=False)
    releases = []
    layouts = ({}, {"row_group_size": 77, "compression": "none"}, {"data_page_size": 64, "write_batch_size": 5, "use_dictionary": False, "data_page_version": "2.0"})
    for i, options in enumerate(layouts):
        source, release = folder / f"source{i}.parquet", folder / f"release{i}.parquet"
        pq.write_table(table, source, **options)
        program.run(folder, table.column_names, {"parquet": {"path": source}}, {"parquet": {"path": release}}, identity=["withheld_name"])
        agreement.tables_agree(agreement.read(source), agreement.read(release))
        releases.append(agreement.read(release))
    for name in releases[0].column_names:
        for r in releases[1:]:
            agreement.same(name, releases[0].column(name).combine_chunks(), r.column(name).combine_chunks())


def rejected(program, name, table, options):
    """Records without a finite number to mask are left out, and every other
    column of them too."""
    folder = program.folder(f"rejected {name}")
    i = table.column_names.index("masked_required")
    values = table.column(i).to_pylist()
    bad = {3, 4, 5, 119, 120, 250, *range(300, 380, 2), 499}
    values = [(math.nan, math.inf, -math.inf)[k % 3] if k in bad else v for k, v in enumerate(values)]
    table = table.set_column(i, table.schema.field(i), pa.array(values, pa.float64()))
    source, release = folder / "source.parquet", folder / "release.parquet"
    pq.write_table(table, source, **options)
    program.run(folder, table.column_names, {"parquet": {"path": source}}, {"parquet": {"path": release}}, status=3)
    original = agreement.read(source)
    edges = [-1, *sorted(bad), len(values)]
    kept = pa.concat_tables(original.slice(a + 1, b - a - 1) for a, b in zip(edges, edges[1:]))
    agreement.tables_agree(kept, agreement.read(release))
    agreement.parquet_agrees(source, release, spliced=False, rows=kept.num_rows)
    agreement.nothing_left(table, release)
    agreement.filters_hold(release, ["string", "int64", "masked_float64"])
    lines = [json.loads(line) for line in (folder / "quarantine.jsonl").read_text().splitlines()]
    require(len(lines) == len(bad), f"{len(lines)} records in quarantine, not {len(bad)}")


def duckdb_parquet(program, options):
    folder = program.folder(f"duckdb {options}")
    source, release = folder / "source.parquet", folder / "release.parquet"
    con = duckdb.connect()
    con.execute("SET threads = 1; SELECT setseed(0.5)")
    con.execute(f"""COPY (SELECT
        'Respondent-' || i AS withheld_name, {tables.NUMBER_MARK}::BIGINT * 4294967296 + i AS withheld_number,
        CASE WHEN i % 7 > 0 THEN round(1e6 + 8e7 * random(), 5) END AS masked_float64,
        CASE WHEN i % 5 > 0 THEN CAST(1e12 * random() AS BIGINT) END AS masked_int64,
        CAST(100 * random() AS TINYINT) AS masked_int8, CAST(200 * random() AS UTINYINT) AS masked_uint8,
        CAST(1000 * random() AS DECIMAL(7, 2)) AS masked_decimal_i32, CAST(1e9 * random() AS DECIMAL(15, 4)) AS masked_decimal_i64,
        CAST(1e5 * random() AS DECIMAL(38, 3)) AS masked_decimal_flba,
        CAST(i AS HUGEINT) AS hugeint, i::UINTEGER AS uinteger, CAST(i * 1e9 AS UBIGINT) AS ubigint, (i % 2 = 0) AS bool, random()::FLOAT AS float32,
        CASE WHEN i % 3 > 0 THEN ['north', 'south', 'é'][1 + i % 3] END AS region, repeat('x', i % 40) AS text, '\\xAA'::BLOB || encode(i::VARCHAR) AS blob,
        uuid() AS uuid, CAST('low' AS ENUM('low', 'high')) AS enum, DATE '2020-01-01' + i::INT AS date, TIME '01:02:03' + to_seconds(i) AS time,
        TIMESTAMP '2020-01-01' + to_microseconds(i) AS timestamp, TIMESTAMPTZ '2020-01-01' AS timestamptz, to_days(i::INT) AS interval,
        TIMESTAMP_NS '2020-01-01 00:00:00.000000001' AS timestamp_ns,
        [i, NULL, i + 1] AS list, {{'a': i, 'b': ['x', NULL]}} AS struct, MAP {{'k': i}} AS map
        FROM range(5000) t(i)) TO '{source}' (FORMAT parquet {", " if options else ""}{options})""")
    table = agreement.read(source)
    program.run(folder, table.column_names, {"parquet": {"path": source}}, {"parquet": {"path": release}})
    agreement.tables_agree(table, agreement.read(release))
    agreement.duckdb_agrees(source, release)
    agreement.parquet_agrees(source, release)
    agreement.nothing_left(table, release)
    agreement.filters_hold(release, ["region", "masked_float64", "masked_int64", "uinteger"])
