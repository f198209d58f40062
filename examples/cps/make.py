"""Writes cps1988.parquet from the CPS1988 table of the US Current Population Survey.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install pyarrow
    /tmp/venv/bin/python examples/cps/make.py cps1988.csv examples/cps/cps1988.parquet

The columns `name` and `person_id` are invented here, so that the example has an
identifier to withhold and a respondent to be consistent about: the names are
drawn with a fixed seed from two short lists and belong to nobody.
"""

import csv
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

FIRST = """Albert Bruno Carl Daniel Edgar Felix George Henry Isaac Jacob Kurt Louis Martin Nathan Oscar
Paul Quentin Robert Samuel Thomas Ulysses Victor Walter Xavier Yannick Zachary""".split()
LAST = """Ashdown Birchfield Coldwater Dunmore Elmsworth Fairbrook Greyling Hollowell Ironside Juniper
Kestrel Larkspur Millrace Northgate Oakhurst Pemberley Quillfeather Redfern Silverton Thornbury
Underhill Vantage Westerly Yarrow""".split()


def main(source: str, target: str) -> None:
    rng = random.Random(1988)
    with open(source, newline="") as f:
        rows = list(csv.DictReader(f))
    table = pa.table(
        {
            "person_id": pa.array([f"P{int(r['rownames']):06d}" for r in rows]),
            "name": pa.array([f"{rng.choice(FIRST)} {rng.choice(LAST)}" for _ in rows]),
            "wage": pa.array([float(r["wage"]) for r in rows]),
            "education": pa.array([int(r["education"]) for r in rows], pa.int32()),
            "experience": pa.array([int(r["experience"]) for r in rows], pa.int32()),
            "ethnicity": pa.array([r["ethnicity"] for r in rows]),
            "smsa": pa.array([r["smsa"] for r in rows]),
            "region": pa.array([r["region"] for r in rows]),
            "parttime": pa.array([r["parttime"] for r in rows]),
        }
    )
    pq.write_table(table, target, compression="zstd", row_group_size=10_000)


if __name__ == "__main__":
    main(*sys.argv[1:])
