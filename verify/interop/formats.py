"""Any source to any sink: what pyarrow and DuckDB write in each format is
released into each format and compared as values."""

import datetime
import decimal
import gzip
import io
import json

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

import agreement
import tables
from agreement import require

SOURCES = ["parquet", "arrow", "arrow-lz4", "arrow-zstd", "stream", "csv", "csv-duckdb", "csv.gz", "csv.zst", "jsonl", "jsonl-duckdb", "jsonl.gz"]
SINKS = ["parquet", "parquet-plain", "arrow", "arrow-lz4", "arrow-zstd", "stream", "pipe", "csv", "csv.gz", "csv.zst", "jsonl", "jsonl.zst"]


def cases():
    for share, label in ((0.15, ""), (0, " without nulls"), (None, " of no rows")):
        table = tables.plain(400, 0.15).slice(0, 0) if share is None else tables.plain(400, share)
        for source in SOURCES:
            for sink in SINKS:
                text = source.startswith(("csv", "jsonl"))
                if share is None and (text or sink not in ("parquet", "arrow", "stream", "csv", "jsonl")):
                    continue
                if share == 0 and (source not in ("parquet", "arrow", "csv", "jsonl") or sink not in ("parquet", "arrow", "csv", "jsonl")):
                    continue
                name = f"{source} to {sink}{label}"
                yield name, lambda p, n=name, t=table, a=source, b=sink: between(p, n, t, a, b)
    every = tables.everything(400, 0.15, seed=21)
    for source, sink in (("arrow", "parquet"), ("stream", "parquet-plain"), ("parquet", "arrow-lz4"), ("parquet", "stream"), ("parquet", "pipe")):
        name = f"every type, {source} to {sink}"
        yield name, lambda p, n=name, a=source, b=sink: every_value(p, n, every, a, b)
    for source in ("arrow", "arrow-lz4", "arrow-zstd", "stream"):
        for sink in ("arrow", "arrow-zstd", "stream"):
            name = f"every type, {source} to {sink}"
            yield name, lambda p, n=name, a=source, b=sink: every_type(p, n, every, a, b)


def extension(form):
    return {"stream": "arrows", "pipe": "arrows"}.get(form, form.split("-")[0])


def described(form, path):
    """The configuration's part for a form at a path."""
    if form == "pipe":
        return {"arrow": {"path": "-"}}
    kind = form.split(".")[0].split("-")[0]
    part = {"path": path}
    if kind == "parquet" and form.endswith("plain"):
        part["encoding"] = "plain"
    if kind in ("arrow", "stream") and "-" in form:
        part["compression"] = form.split("-")[1]
    return {"arrow" if kind == "stream" else kind: part}


def plain_json(v):
    if isinstance(v, datetime.datetime):
        return v.isoformat(timespec="microseconds")
    return str(v) if isinstance(v, (datetime.date, decimal.Decimal)) else v


def write(table, form, path):
    kind, _, how = form.partition("-")
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        pyarrow.feather.write_feather(table, path, compression=how or "uncompressed", chunksize=150)
    elif kind == "stream":
        with pa.ipc.new_stream(path, table.schema) as w:
            w.write_table(table, 150)
    elif how == "duckdb":
        # A line end within a field is something that DuckDB writes in quotes.
        con = duckdb.connect()
        con.register("t", table)
        con.execute(f"COPY t TO '{path}' ({'FORMAT csv, HEADER' if kind == 'csv' else 'FORMAT json'})")
    else:
        if kind.startswith("csv"):
            out = io.BytesIO()
            pyarrow.csv.write_csv(table, out)
            data = out.getvalue()
        else:
            lines = (json.dumps({k: plain_json(v) for k, v in row.items()}, ensure_ascii=False) for row in table.to_pylist())
            data = ("\n".join(lines) + "\n" if table.num_rows else "").encode()
        if kind.endswith(".gz"):
            data = gzip.compress(data)
        elif kind.endswith(".zst"):
            data = pa.compress(data, "zstd", asbytes=True)
        path.write_bytes(data)


def read(form, path, stdout, schema):
    """A release's table, in the types of schema."""
    kind = form.split("-")[0]
    if kind == "parquet":
        return agreement.read(path)
    if kind == "pipe":
        return pa.ipc.open_stream(stdout).read_all()
    if kind == "stream":
        return pa.ipc.open_stream(path.read_bytes()).read_all()
    if kind == "arrow":
        return pa.ipc.open_file(path).read_all()
    data = pa.input_stream(path, compression="detect").read() if kind.endswith((".gz", ".zst")) else path.read_bytes()
    if kind.startswith("csv"):
        options = pyarrow.csv.ConvertOptions(column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""])
        return pyarrow.csv.read_csv(io.BytesIO(data), parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True), convert_options=options)
    rows = [json.loads(line) for line in data.decode().splitlines()]
    columns = []
    for f in schema:
        values = [r.get(f.name) for r in rows]
        if pa.types.is_temporal(f.type):
            values = [v and (datetime.date.fromisoformat(v) if f.type == pa.date32() else datetime.datetime.fromisoformat(v)) for v in values]
        columns.append(pa.array(values, f.type))
    names = {k for r in rows for k in r}
    require(names <= set(schema.names), f"members {sorted(names - set(schema.names))}")
    return pa.table(columns, schema)


def between(program, name, table, source, sink):
    folder = program.folder(name)
    a, b = folder / f"source.{extension(source)}", folder / f"release.{extension(sink)}"
    write(table, source, a)
    if source == "csv-duckdb":
        # What DuckDB reads of its own file is what the program can be asked for.
        written = duckdb.connect().execute("SELECT count(*) FROM read_csv(?)", [str(a)]).fetchone()[0]
        require(written == table.num_rows, "DuckDB does not read its own file")
    part = described(source, a)
    options = {"path": a}
    if source == "jsonl":
        # JSON has no dates: where they are not declared they are text.
        options["types"] = {"date": "date", "moment": "timestamp"}
    stdout = program.run(folder, table.column_names, {kind: options for kind in part}, described(sink, b))
    schema = pa.schema([f for f in table.schema if f.name in agreement.released_names(table.column_names)])
    released = read(sink, b, stdout, schema)
    for f in schema:
        got = released.schema.field(f.name).type
        if source.startswith("jsonl") and source != "jsonl" and pa.types.is_temporal(f.type) and pa.types.is_string(got):
            continue
        require(got == f.type, f"column {f.name}: type {got}, not {f.type}")
    agreement.tables_agree(table, released.cast(schema), typed=False)
    if sink == "pipe":
        found = agreement.traces(table, stdout)
        require(not found, f"found in the stream: {', '.join(found)}")
    else:
        agreement.nothing_left(table, b)


def every_type(program, name, table, source, sink):
    folder = program.folder(name)
    a, b = folder / f"source.{extension(source)}", folder / f"release.{extension(sink)}"
    write(table, source, a)
    program.run(folder, table.column_names, {"arrow": {"path": a}}, described(sink, b))
    original = pa.ipc.open_stream(a.read_bytes()).read_all() if source == "stream" else pa.ipc.open_file(a).read_all()
    # A dictionary that is masked or within a list is released as its values: its
    # entries may be those of records that are not.
    for name, plain in (("list_of_dictionary", pa.list_(pa.string())), ("masked_dictionary", pa.int64())):
        i = original.column_names.index(name)
        original = original.set_column(i, name, original.column(i).cast(plain))
    agreement.tables_agree(original, read(sink, b, b"", None))
    agreement.nothing_left(table, b)


def every_value(program, name, table, source, sink):
    """Between Parquet and Arrow IPC types may change to what both have; values
    and nulls may not."""
    folder = program.folder(name)
    a, b = folder / f"source.{extension(source)}", folder / f"release.{extension(sink)}"
    if sink.startswith("parquet"):
        table = table.drop_columns(["duration_s", "duration_ns"])  # Parquet has no such type
    write(table, source, a)
    part = described(source, a)
    stdout = program.run(folder, table.column_names, {k: {"path": a} for k in part}, described(sink, b))
    agreement.tables_agree(table, read(sink, b, stdout, None), typed=False)
    if b.exists():
        agreement.nothing_left(table, b)
