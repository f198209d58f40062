"""Tables with a column of every type, to be written in every variety.

Every table has three kinds of columns, told apart by their names:

  withheld_*  what an identifier may be: never released
  masked_*    numbers that get noise
  anything else is released as it is
"""

import datetime
import decimal
import random
import uuid

import pyarrow as pa

WITHHELD, MASKED = "withheld_", "masked_"

# The upper half of every withheld number.
NUMBER_MARK = 0x5AFE7AB1

# SD of the noise and decimals of each masked column. The widest values lie far
# apart, so that an original met in a release is not there by chance.
NOISE = {
    "masked_int8": (5, 0), "masked_int16": (400, 0), "masked_int32": (90_000, 0), "masked_int64": (5e9, 0),
    "masked_uint8": (8, 0), "masked_uint16": (900, 0), "masked_uint32": (90_000, 0), "masked_uint64": (5e9, 0),
    "masked_float32": (50, 2), "masked_float64": (2e6, 5), "masked_sparse": (100, 2), "masked_required": (300, 3),
    "masked_decimal_i32": (20, 2), "masked_decimal_i64": (4e6, 4), "masked_decimal_flba": (900, 3),
    "masked_decimal32": (9, 1), "masked_decimal64": (5000, 2), "masked_decimal256": (700, 2),
    "masked_dictionary": (40, 0), "masked_low": (3, 1),
}


def nulled(values, share, rng):
    """values with about share of them null: none for 0, all for 1."""
    return [None if share > 0 and rng.random() < share else v for v in values]


def masked_columns(n, share, rng):
    """Arrays of every type that masks do arithmetic on."""
    def dec(digits, scale):
        return lambda: decimal.Decimal(rng.randrange(-10**digits, 10**digits)).scaleb(-scale)

    def column(make, type_, s=share):
        return pa.array(nulled([make() for _ in range(n)], s, rng), type_)

    out = {}
    for bits in (8, 16, 32, 64):
        top = 2 ** min(bits - 1, 46)
        out[f"masked_int{bits}"] = column(lambda: rng.randrange(-top // 2, top // 2), getattr(pa, f"int{bits}")())
        out[f"masked_uint{bits}"] = column(lambda: rng.randrange(top // 2, top), getattr(pa, f"uint{bits}")())
    out["masked_float32"] = column(lambda: round(rng.uniform(-3000, 3000), 2), pa.float32())
    out["masked_float64"] = column(lambda: round(rng.uniform(1e6, 9e7), 5), pa.float64())
    out["masked_sparse"] = column(lambda: round(rng.gauss(0, 700), 2), pa.float64(), max(share, 0.9) if share else 0)
    out["masked_required"] = column(lambda: round(rng.gauss(5000, 900), 3), pa.float64(), 0)
    out["masked_decimal_i32"] = column(dec(5, 2), pa.decimal128(7, 2))
    out["masked_decimal_i64"] = column(dec(13, 4), pa.decimal128(15, 4))
    out["masked_decimal_flba"] = column(dec(9, 3), pa.decimal128(38, 3))
    out["masked_decimal32"] = column(dec(4, 1), pa.decimal32(6, 1))
    out["masked_decimal64"] = column(dec(8, 2), pa.decimal64(12, 2))
    out["masked_decimal256"] = column(dec(8, 2), pa.decimal256(50, 2))
    out["masked_dictionary"] = column(lambda: rng.randrange(10) * 100, pa.int64()).dictionary_encode()
    out["masked_low"] = column(lambda: float(rng.randrange(6)), pa.float64())
    return out


def withheld_columns(n, rng):
    """What an identifier may be; every value can be found again in bytes."""
    ids = [f"Respondent-{i:05d}-{rng.getrandbits(40):010x}" for i in range(n)]
    return {
        "withheld_name": pa.array(ids),
        "withheld_number": pa.array([NUMBER_MARK << 32 | rng.getrandbits(32) for _ in range(n)], pa.int64()),
        "withheld_place": pa.array([rng.uniform(1e6, 9e7) for _ in range(n)], pa.float64()),
        "withheld_class": pa.array([f"Household-{rng.randrange(40):08d}" for _ in range(n)]).dictionary_encode(),
        "withheld_nested": pa.array([{"street": f"Street-{i}-{rng.getrandbits(30):08x}", "no": rng.getrandbits(20)} for i in range(n)]),
    }


def flat_columns(n, share, rng):
    """A column of every type without children, released as it is."""
    day = datetime.date(1950, 1, 1)
    moment = datetime.datetime(2001, 2, 3, 4, 5, 6)

    def column(make, type_):
        return pa.array(nulled([make() for _ in range(n)], share, rng), type_)

    def word():
        return "".join(rng.choice("abcdefghijk äöü€") for _ in range(rng.randrange(12)))

    def when(step):
        return lambda: moment + datetime.timedelta(**{step: rng.randrange(10**7)})

    out = {}
    for bits in (8, 16, 32, 64):
        out[f"int{bits}"] = column(lambda: rng.randrange(-2**(bits - 1), 2**(bits - 1)), getattr(pa, f"int{bits}")())
        out[f"uint{bits}"] = column(lambda: rng.randrange(2**bits), getattr(pa, f"uint{bits}")())
    out |= {
        "float16": column(lambda: rng.randrange(-100, 100) / 8, pa.float16()),
        "float32": column(lambda: rng.gauss(0, 1e20), pa.float32()),
        "float64": column(lambda: rng.choice([rng.gauss(0, 1e200), -0.0, float("inf"), float("-inf"), 5e-324]), pa.float64()),
        "decimal32": column(lambda: decimal.Decimal(rng.randrange(-10**9, 10**9)).scaleb(-2), pa.decimal32(9, 2)),
        "decimal64": column(lambda: decimal.Decimal(rng.randrange(-10**18, 10**18)).scaleb(-9), pa.decimal64(18, 9)),
        "decimal128": column(lambda: decimal.Decimal(rng.randrange(-10**30, 10**30)).scaleb(-10), pa.decimal128(38, 10)),
        "decimal256": column(lambda: decimal.Context(80).scaleb(decimal.Decimal(rng.randrange(10**60)), -10), pa.decimal256(76, 10)),
        "string": column(word, pa.string()),
        "large_string": column(word, pa.large_string()),
        "string_view": column(word, pa.string_view()),
        "binary": column(lambda: rng.randbytes(rng.randrange(9)), pa.binary()),
        "large_binary": column(lambda: rng.randbytes(rng.randrange(9)), pa.large_binary()),
        "binary_view": column(lambda: rng.randbytes(rng.randrange(30)), pa.binary_view()),
        "fixed_binary": column(lambda: rng.randbytes(7), pa.binary(7)),
        "bool": column(lambda: rng.random() < 0.4, pa.bool_()),
        "bool_runs": pa.array(nulled([i // 97 % 2 == 0 for i in range(n)], share, rng), pa.bool_()),
        "date32": column(lambda: day + datetime.timedelta(days=rng.randrange(30000)), pa.date32()),
        "date64": column(lambda: day + datetime.timedelta(days=rng.randrange(30000)), pa.date64()),
        "time32_s": column(lambda: rng.randrange(86400), pa.time32("s")),
        "time32_ms": column(lambda: rng.randrange(86_400_000), pa.time32("ms")),
        "time64_us": column(lambda: rng.randrange(86_400 * 10**6), pa.time64("us")),
        "time64_ns": column(lambda: rng.randrange(86_400 * 10**9), pa.time64("ns")),
        "timestamp_s": column(when("seconds"), pa.timestamp("s")),
        "timestamp_ms": column(when("milliseconds"), pa.timestamp("ms")),
        "timestamp_us": column(when("microseconds"), pa.timestamp("us")),
        "timestamp_ns": column(when("microseconds"), pa.timestamp("ns")),
        "timestamp_utc": column(when("microseconds"), pa.timestamp("us", "UTC")),
        "timestamp_tz": column(when("milliseconds"), pa.timestamp("ms", "Europe/Berlin")),
        "duration_s": column(lambda: rng.randrange(10**6), pa.duration("s")),
        "duration_ns": column(lambda: rng.randrange(10**15), pa.duration("ns")),
        "dictionary": column(lambda: rng.choice(["north", "south", "east", "west"]), pa.string()).dictionary_encode(),
        "dictionary_int": column(lambda: rng.choice([3, 5, 8]), pa.int32()).dictionary_encode(),
        "null": pa.nulls(n),
    }
    return out


def nested_columns(n, share, rng):
    """Columns with children, with nulls at every level."""
    def maybe(v):
        return None if rng.random() < share else v

    def items(make):
        return maybe([make() for _ in range(rng.randrange(4))])

    def number():
        return maybe(rng.randrange(100))

    def person():
        return maybe({"a": maybe(rng.randrange(9)), "b": maybe(rng.choice("xyz"))})

    point = pa.struct([("a", pa.int16()), ("b", pa.string())])
    deep = pa.struct([("p", point), ("l", pa.list_(pa.struct([("q", pa.list_(pa.int8()))])))])
    return {
        "struct": pa.array([person() for _ in range(n)], point),
        "list": pa.array([items(number) for _ in range(n)], pa.list_(pa.int32())),
        "large_list": pa.array([items(number) for _ in range(n)], pa.large_list(pa.int64())),
        "fixed_list": pa.array([maybe([number(), number()]) for _ in range(n)], pa.list_(pa.float32(), 2)),
        "list_of_list": pa.array([items(lambda: items(number)) for _ in range(n)], pa.list_(pa.list_(pa.int8()))),
        "list_of_struct": pa.array([items(person) for _ in range(n)], pa.list_(point)),
        "map": pa.array([maybe([(f"k{k}", number()) for k in range(rng.randrange(3))]) for _ in range(n)], pa.map_(pa.string(), pa.int32())),
        "map_of_list": pa.array([maybe([(k, items(number)) for k in range(rng.randrange(3))]) for _ in range(n)],
                                pa.map_(pa.int32(), pa.list_(pa.int16()))),
        "deep": pa.array([maybe({"p": person(), "l": items(lambda: {"q": items(number)})}) for _ in range(n)], deep),
        "list_of_dictionary": pa.array([items(lambda: rng.choice("rst")) for _ in range(n)], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    }


def extension_columns(n, share, rng):
    """Extension types that Parquet knows."""
    def column(make, type_):
        storage = pa.array(nulled([make() for _ in range(n)], share, rng), type_.storage_type)
        return pa.ExtensionArray.from_storage(type_, storage)

    return {
        "uuid": column(lambda: uuid.UUID(int=rng.getrandbits(128)).bytes, pa.uuid()),
        "json": column(lambda: f'{{"x": {rng.randrange(9)}}}', pa.json_(pa.string())),
    }


def everything(n, share, seed=1, nested=True):
    """A table of n rows with every type; share of the values is null. A column
    that is required is in it, so that definition levels may be missing."""
    rng = random.Random(seed)
    columns = withheld_columns(n, rng) | masked_columns(n, share, rng) | flat_columns(n, share, rng)
    if nested:
        columns |= nested_columns(n, share, rng)
    names = list(columns)
    rng.shuffle(names)
    fields = [pa.field(k, columns[k].type, nullable=k != "masked_required") for k in names]
    return pa.table([columns[k] for k in names], pa.schema(fields))


def plain(n, share, seed=2):
    """A table of types that every format holds."""
    rng = random.Random(seed)

    def column(make, type_):
        return pa.array(nulled([make() for _ in range(n)], share, rng), type_)

    moment = datetime.datetime(1999, 12, 31, 23, 59, 59)
    return pa.table({
        "withheld_name": withheld_columns(n, rng)["withheld_name"],
        "masked_float64": column(lambda: round(rng.uniform(1e6, 9e7), 5), pa.float64()),
        "masked_int64": column(lambda: rng.randrange(-2**45, 2**45), pa.int64()),
        "int64": column(lambda: rng.randrange(-2**63, 2**63), pa.int64()),
        "float64": column(lambda: rng.gauss(0, 1e5), pa.float64()),
        "text": column(lambda: rng.choice(["a", 'say "so"', "comma, or two", "line\nbreak", "é€😀", " kept ", "\\", "'"]), pa.string()),
        "bool": column(lambda: rng.random() < 0.5, pa.bool_()),
        "date": column(lambda: datetime.date(1900, 1, 1) + datetime.timedelta(days=rng.randrange(60000)), pa.date32()),
        "moment": column(lambda: moment + datetime.timedelta(microseconds=rng.randrange(10**15)), pa.timestamp("us")),
    })
