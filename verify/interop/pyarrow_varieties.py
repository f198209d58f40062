"""Feeds the program Parquet files in every variety that pyarrow knows, and holds
the releases, read back by pyarrow and DuckDB, against them.

    SDLFILTER_BINARY=bin/sdlfilter python verify/interop/pyarrow_varieties.py [PART OF A CASE'S NAME]
"""

import concurrent.futures
import os
import pathlib
import sys
import tempfile
import traceback

import pyarrow as pa
import pyarrow.parquet as pq

import agreement
import formats
import special
import tables
from filtering import Failed, Program

CODECS = ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]
ROWS = 400


def encodings_of(type_):
    """The encodings that pyarrow writes a flat type with, besides a dictionary."""
    t = pa.types
    if t.is_boolean(type_):
        return ["PLAIN", "RLE"]
    if t.is_floating(type_):
        return ["PLAIN", "BYTE_STREAM_SPLIT"]
    if t.is_integer(type_) or t.is_temporal(type_) and not t.is_duration(type_) or t.is_duration(type_):
        return ["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED"]
    if t.is_decimal(type_) or t.is_fixed_size_binary(type_):
        return ["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"]
    if t.is_nested(type_) or t.is_null(type_) or t.is_dictionary(type_):
        return ["PLAIN"]
    return ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]


def column_encoding(table, turn, decimals_as_integers=False):
    """One encoding a column, a different one each turn."""
    chosen = {}
    for f in table.schema:
        if pa.types.is_nested(f.type) or pa.types.is_dictionary(f.type):
            continue
        options = encodings_of(f.type)
        if decimals_as_integers and pa.types.is_decimal(f.type) and f.type.precision <= 18:
            options = ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
        chosen[f.name] = options[turn % len(options)]
    return chosen


def write_cases():
    """Name, table, options of pq.write_table."""
    full, none, all_, flat = (tables.everything(ROWS, s, nested=n) for s, n in ((0.15, True), (0, True), (1, True), (0.15, False)))
    v1, v2 = {"data_page_version": "1.0"}, {"data_page_version": "2.0"}
    for codec in CODECS:
        yield f"v1 {codec}", full, {**v1, "compression": codec}
        yield f"v2 {codec}", full, {**v2, "compression": codec}
        yield f"v1 {codec} without dictionary", full, {**v1, "compression": codec, "use_dictionary": False}
        yield f"v2 {codec} without dictionary", full, {**v2, "compression": codec, "use_dictionary": False}
    for turn in range(6):
        for version, options in (("v1", v1), ("v2", v2)):
            codec = CODECS[turn]
            yield f"{version} {codec} encodings {turn}", full, {
                **options, "use_dictionary": False, "column_encoding": column_encoding(full, turn), "compression": codec}
    for turn in range(3):
        yield f"decimals as integers {turn}", flat, {
            "store_decimal_as_integer": True, "use_dictionary": False, "column_encoding": column_encoding(flat, turn, True)}
    yield "decimals as integers dictionary", flat, {"store_decimal_as_integer": True, "compression": "none"}
    for label, table in (("no", none), ("only", all_)):
        yield f"{label} nulls v1", table, {**v1, "compression": "none"}
        yield f"{label} nulls v2", table, {**v2, "compression": "none"}
        yield f"{label} nulls without dictionary", table, {"use_dictionary": False, "compression": "none"}
        yield f"{label} nulls encodings", table, {**v2, "use_dictionary": False, "column_encoding": column_encoding(table, 1)}
        yield f"{label} nulls encodings 2", table, {**v1, "use_dictionary": False, "column_encoding": column_encoding(table, 2), "row_group_size": 250}
    groups = {"row_group_size": 117}
    tiny = {"data_page_size": 64, "write_batch_size": 7}
    yield "row groups", full, {**groups, "compression": "none"}
    yield "tiny pages v1", full, {**v1, **tiny, "compression": "none"}
    yield "tiny pages v2", full, {**v2, **tiny, "compression": "zstd"}
    yield "tiny pages, groups, v1", full, {**v1, **tiny, **groups, "use_dictionary": False}
    yield "tiny pages, groups, v2", full, {**v2, **tiny, **groups, "use_dictionary": False, "column_encoding": column_encoding(full, 2)}
    yield "rows per page", full, {"max_rows_per_page": 10}
    yield "one row a group", full.slice(0, 20), {"row_group_size": 1, "compression": "none"}
    yield "small dictionaries", full, {"dictionary_pagesize_limit": 100, "data_page_size": 500, "compression": "none"}
    yield "small dictionaries v2", full, {**v2, "dictionary_pagesize_limit": 100, "data_page_size": 500, "compression": "snappy"}
    yield "page index", full, {"write_page_index": True, "compression": "none"}
    yield "page index, groups, tiny pages", full, {"write_page_index": True, **groups, **tiny, "compression": "none"}
    yield "page index v2", full, {"write_page_index": True, **v2, **tiny}
    yield "without statistics", full, {"write_statistics": False, "compression": "none"}
    yield "checksums v1", full, {"write_page_checksum": True, **v1, "compression": "none"}
    yield "checksums v2", full, {"write_page_checksum": True, **v2, "compression": "zstd", **groups}
    blooms = {c: {"ndv": ROWS, "fpp": 0.01} for c in ("string", "int64", "int32", "masked_float64", "masked_int64", "withheld_name", "withheld_number")}
    yield "bloom filters", full, {"bloom_filter_options": blooms, "compression": "none"}
    yield "bloom filters, groups, page index", full, {"bloom_filter_options": blooms, "write_page_index": True, **groups, "use_dictionary": False}
    yield "content-defined chunks", full, {"use_content_defined_chunking": {"min_chunk_size": 512, "max_chunk_size": 2048, "norm_level": 0}}
    yield "byte stream split", flat, {"use_dictionary": False, "use_byte_stream_split": [
        c for c in flat.column_names if pa.types.is_floating(flat.schema.field(c).type)]}
    yield "version 1.0", flat.drop_columns(["null"]), {"version": "1.0", "coerce_timestamps": None, "compression": "none"}
    yield "version 2.4", full, {"version": "2.4"}
    yield "INT96", flat, {"use_deprecated_int96_timestamps": True, "compression": "none"}
    yield "INT96 v2 without dictionary", flat, {"use_deprecated_int96_timestamps": True, **v2, "use_dictionary": False}
    yield "Spark's flavour", flat.drop_columns(["null"]), {"flavor": "spark"}
    yield "timestamps in ms", flat, {"coerce_timestamps": "ms", "allow_truncated_timestamps": True}
    yield "times in UTC", flat, {"write_time_adjusted_to_utc": True}
    yield "without an Arrow schema", full, {"store_schema": False, "compression": "none"}
    yield "lists of two levels", full, {"use_compliant_nested_type": False}
    yield "sorting columns", full, {"sorting_columns": [pq.SortingColumn(full.column_names.index("withheld_name")), pq.SortingColumn(full.column_names.index("int64"))]}
    yield "dictionary of some", full, {"use_dictionary": ["string", "masked_float64", "masked_int8", "withheld_class"]}
    for codec, level in (("zstd", 19), ("gzip", 9), ("brotli", 10)):
        yield f"{codec} level {level}", flat, {"compression": codec, "compression_level": level}
    mixed = {f.name: CODECS[i % len(CODECS)] for i, f in enumerate(flat.schema)}
    yield "a codec each column", flat, {"compression": mixed}
    yield "empty", full.slice(0, 0), {"compression": "none"}
    yield "one row", full.slice(0, 1), {"compression": "none"}
    yield "one row v2", full.slice(7, 1), {**v2}


def write_check(program, name, table, options, sink=None):
    folder = program.folder(name)
    source, release = folder / "source.parquet", folder / "release.parquet"
    pq.write_table(table, source, **options)
    program.run(folder, table.column_names, {"parquet": {"path": source}}, {"parquet": {"path": release, **(sink or {})}})
    # What pyarrow reads of the source: some types do not survive its writer.
    agreement.tables_agree(agreement.read(source), agreement.read(release))
    agreement.duckdb_agrees(source, release)
    agreement.parquet_agrees(source, release)
    agreement.nothing_left(table, release)
    if any(k in name for k in ("bloom", "index", "groups")):
        agreement.filters_hold(release, ["string", "int64", "masked_float64", "masked_int64", "masked_int8", "masked_decimal_i64"])


def all_cases():
    """Name and what to do with the program, for every case there is."""
    for name, table, options in write_cases():
        yield name, lambda p, n=name, t=table, o=options: write_check(p, n, t, o)
    small = tables.everything(300, 0.2, seed=5)
    for codec in CODECS:
        for encoding in ("compact", "plain"):
            name = f"sink {codec} {encoding}"
            yield name, lambda p, n=name, s={"compression": codec, "encoding": encoding}: write_check(
                p, n, small, {"compression": "none", "row_group_size": 130}, s)
    yield from special.cases()
    yield from formats.cases()


def attempt(program, name, check):
    try:
        check(program)
        return None
    except Failed as e:
        return f"{name}: {e}"
    except Exception:
        return f"{name}: {traceback.format_exc(limit=-4)}"


def main():
    binary = os.environ.get("SDLFILTER_BINARY")
    if not binary:
        sys.exit("SDLFILTER_BINARY must name the program")
    cases = [(n, c) for n, c in all_cases() if len(sys.argv) < 2 or any(a in n for a in sys.argv[1:])]
    if len({n for n, _ in cases}) != len(cases):
        sys.exit("two cases have one name")
    with tempfile.TemporaryDirectory() as work:
        program = Program(binary, work)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda c: attempt(program, *c), cases))
    failures = [r for r in results if r]
    for f in failures:
        print("FAIL", f)
    print(f"python: {len(cases) - len(failures)} passed, {len(failures)} failed")
    sys.exit(bool(failures) or not cases)


if __name__ == "__main__":
    main()
