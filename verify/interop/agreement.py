"""Holds a release against its source: what must be equal, what must differ,
and what must not be in it at all."""

import re
import struct

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from filtering import Failed
from tables import MASKED, NOISE, NUMBER_MARK, WITHHELD


def require(condition, message):
    if not condition:
        raise Failed(message)


def released_names(names):
    return [n for n in names if not n.startswith(WITHHELD)]


def tables_agree(original, released, typed=True):
    """Rows in order: released columns equal in type, nulls and values; masked
    ones in type and nulls, their values near the original and not the same."""
    require(released.column_names == released_names(original.column_names),
            f"columns {released.column_names}, not {released_names(original.column_names)}")
    require(released.num_rows == original.num_rows, f"{released.num_rows} rows, not {original.num_rows}")
    for name in released.column_names:
        a, b = original.column(name), released.column(name)
        if typed:
            require(a.type == b.type, f"column {name}: type {b.type}, not {a.type}")
            nullable = [t.schema.field(name).nullable for t in (original, released)]
            require(nullable[0] == nullable[1], f"column {name}: nullable {nullable[1]}, not {nullable[0]}")
        if name.startswith(MASKED):
            masked_agree(name, a, b)
        else:
            same(name, a, b)


def same(name, a, b):
    if a.equals(b):
        return
    if pa.types.is_duration(a.type):  # nanoseconds are more than Python's timedelta holds
        a, b = a.cast(pa.int64()), b.cast(pa.int64())
    if pa.types.is_timestamp(a.type) and a.type.tz and pa.types.is_timestamp(b.type) and b.type.tz:
        b = b.cast(pa.timestamp(b.type.unit, a.type.tz))  # the same instants
    x, y = a.to_pylist(), b.to_pylist()
    at = [i for i, (v, w) in enumerate(zip(x, y)) if repr(v) != repr(w)]
    if at:
        raise Failed(f"column {name}: {len(at)} of {len(x)} values changed, first in row {at[0]}: {y[at[0]]!r}, not {x[at[0]]!r}")


def masked_agree(name, a, b):
    sd, decimals = NOISE[name]
    require(a.is_null().equals(b.is_null()), f"column {name}: nulls moved")
    x, y = floats(a.drop_null()), floats(b.drop_null())
    if len(x) == 0:
        return
    difference = pc.abs(pc.subtract(x, y))
    # 10 SDs of a normal are passed once in 1e22 draws; what is clipped to the
    # type's range, or rounded, lies nearer.
    far = pc.sum(pc.greater(difference, 10 * sd + 10**-decimals)).as_py()
    require(far == 0, f"column {name}: {far} values are further than 10 SDs from their originals")
    if b.type == pa.float64():
        off = pc.abs(pc.subtract(y, pc.round(y, decimals)))
        require(pc.all(pc.less_equal(off, pc.multiply(pc.abs(y), 4e-16))).as_py(), f"column {name}: a value off the grid of {decimals} decimals")
    # Noise of SD s on a grid of step g leaves a value as it is with probability
    # of about 0.4 g/s: at most 0.14 here. More than half of 40 do so once in 1e8.
    if len(x) >= 40:
        changed = pc.sum(pc.not_equal(x, y)).as_py()
        require(changed > len(x) / 2, f"column {name}: only {changed} of {len(x)} values differ")
        # The mean square of 40 draws passes 2.56 times its mean once in 1e6.
        spread = pc.mean(pc.multiply(difference, difference)).as_py() ** 0.5
        require(spread < 1.6 * sd, f"column {name}: the noise's SD is {spread:.4g}, not {sd}")


def floats(column):
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.float64(), safe=False)


# What every withheld text and number holds, see tables.withheld_columns.
MARKS = [b"Respondent-", b"Household-", b"Street-", WITHHELD.encode(), struct.pack("<L", NUMBER_MARK)]

# What eight bytes look like that may be an original: doubles between 1e6 and
# 9e7, and numbers of ten digits and more written out. Others are in any file by
# chance.
DOUBLE = re.compile(rb"(?s)(?=(.{6}[\x2e-\x95]\x41))")
DIGITS = re.compile(rb"-?\d[\d.]{9,}")


def traces(original, data):
    """What is withheld or masked in original and can be found in the bytes of a
    release: names, texts, and numbers as they lie in memory or are written out."""
    found = [repr(m) for m in MARKS if m in data]
    doubles, digits = set(DOUBLE.findall(data)), set(DIGITS.findall(data))
    for name in original.column_names:
        if name not in ("withheld_number", "withheld_place", "masked_float64", "masked_int64"):
            continue
        values = original.column(name).drop_null().unique().to_pylist()
        hits = sum(str(v).encode() in digits for v in values if abs(v) > 1e10 or isinstance(v, float))
        if original.column(name).type == pa.float64():
            hits += sum(struct.pack("<d", v) in doubles for v in values)
        # Noise maps one value in 1e11 to itself, or to another's original.
        if hits > 0:
            found.append(f"{hits} values of {name}")
    return found


def nothing_left(original, release):
    files = [release] if release.is_file() else sorted(p for p in release.rglob("*") if p.is_file())
    for path in files:
        found = traces(original, path.read_bytes())
        require(not found, f"{path.name}: found in its bytes: {', '.join(found)}")


def read(path):
    """A Parquet file's table, a row group at a time: pyarrow does not read a
    nested dictionary from several at once."""
    f = pq.ParquetFile(path, page_checksum_verification=True)
    groups = [f.read_row_group(i) for i in range(f.num_row_groups)]
    return pa.concat_tables(groups) if groups else f.read()


def parquet_agrees(source, release, spliced=True, rows=None):
    """Footers of two Parquet files: row groups, statistics, metadata."""
    a, b = pq.ParquetFile(source, page_checksum_verification=True), pq.ParquetFile(release, page_checksum_verification=True)
    if spliced:
        groups = [[f.metadata.row_group(i).num_rows for i in range(f.metadata.num_row_groups)] for f in (a, b)]
        groups[0] = [n for n in groups[0] if n > 0]  # pyarrow writes a group of no rows, which needs none
        require(groups[0] == groups[1], f"row groups of {groups[1]} rows, not {groups[0]}")
    require(b.metadata.num_rows == (a.metadata.num_rows if rows is None else rows), f"the footer says {b.metadata.num_rows} rows")
    keys = {k.decode() for k in b.metadata.metadata or {}} - {"ARROW:schema", "pandas"}
    require(not keys, f"metadata under {sorted(keys)} is in the release")
    for g in range(b.metadata.num_row_groups):
        group = b.metadata.row_group(g)
        theirs = None
        for c in range(group.num_columns):
            chunk = group.column(c)
            s = chunk.statistics
            if s is None or "." in chunk.path_in_schema:
                continue
            if theirs is None:
                theirs = b.read_row_group(g)
            statistics_hold(chunk, s, theirs.column(chunk.path_in_schema))


def statistics_hold(chunk, s, column):
    """Statistics are of the values that are released."""
    name = chunk.path_in_schema
    if s.has_null_count:
        require(s.null_count == column.null_count, f"column {name}: statistics say {s.null_count} nulls of {column.null_count}")
    if not s.has_min_max or not name.startswith(MASKED):
        return
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values = [v for v in column.to_pylist() if v is not None]
    for label, said, is_ in (("min", s.min, min(values)), ("max", s.max, max(values))):
        require(float(said) == float(is_), f"column {name}: the statistics' {label} is not the released values'")


def filters_hold(release, columns):
    """Readers that skip by statistics, page indexes and bloom filters find the
    same rows as those that read all."""
    table = pq.read_table(release)
    for name in columns:
        column = table.column(name)
        values = [v for v in column.to_pylist() if v is not None]
        if not values:
            continue
        middle = sorted(values)[len(values) // 2]
        for op, want in ((">", sum(v > middle for v in values)), ("==", sum(v == middle for v in values))):
            got = pq.read_table(release, columns=[name], filters=[(name, op, pa.scalar(middle, column.type))]).num_rows
            require(got == want, f"column {name}: pyarrow finds {got} rows {op} a value, not {want}")
        got = duckdb.connect().execute(f"SELECT count(*) FROM read_parquet(?) WHERE \"{name}\" = ?", [str(release), middle]).fetchone()[0]
        want = sum(v == middle for v in values)
        require(got == want, f"column {name}: DuckDB finds {got} rows that equal a value, not {want}")


def duckdb_agrees(source, release, glob=False):
    """DuckDB reads of the release what it reads of the source."""
    columns = None
    try:
        original = duckdb_table(source, glob)
    except duckdb.Error:
        # It does not know every encoding of every type.
        columns = [c for c in duckdb_names(source, glob) if readable(source, glob, c)]
        original = duckdb_table(source, glob, columns)
    tables_agree(original, duckdb_table(release, glob, columns and released_names(columns)))


def readable(source, glob, column):
    try:
        duckdb_table(source, glob, [column])
    except duckdb.Error:
        return False
    return True


def duckdb_pattern(path, glob):
    return str(path) + ("/**/*.parquet" if glob else "")


def duckdb_names(path, glob=False):
    return [d[0] for d in duckdb.connect().execute("DESCRIBE SELECT * FROM read_parquet(?)", [duckdb_pattern(path, glob)]).fetchall()]


def duckdb_table(path, glob=False, columns=None):
    con = duckdb.connect()
    con.execute("SET threads = 1; SET TimeZone = 'UTC'")
    names = ", ".join(f'"{c}"' for c in columns or duckdb_names(path, glob))
    order = "ORDER BY filename, file_row_number" if glob else "ORDER BY file_row_number"
    query = f"SELECT {names} FROM read_parquet(?, filename = true, file_row_number = true) {order}"
    return con.sql(query, params=[duckdb_pattern(path, glob)]).to_arrow_table()
