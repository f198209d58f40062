#!/usr/bin/env bash
# The example with dbt releases by `dbt build`, and `dbt build` fails where the gate withholds.
#
#   scripts/test-dbt.sh SDLFILTER CACHE
set -euo pipefail
program=$(realpath "$1") cache=$(realpath "$2")
cd "$(dirname "$0")/.."
python=$(scripts/venv.sh "$cache/dbt" dbt-core==1.11.16 dbt-duckdb==1.10.1 duckdb==2.0.0 pyarrow==26.0.0)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" && ln -s "$program" "$dir/bin/sdlfilter"
cp -r examples/dbt examples/project "$dir"
cd "$dir/dbt"
PATH=$dir/bin:$(dirname "$python"):$PATH
export DBT_PROFILES_DIR=. DBT_SEND_ANONYMOUS_USAGE_STATS=false
sdlfilter keygen --out release.key 2>/dev/null
fail() { cat "$dir/log"; echo "  FAIL dbt: $*"; exit 1; }

dbt build >"$dir/log" 2>&1 || fail "dbt build fails"
"$python" - <<'P' || fail "the release is not what it should be"
import duckdb


def one(query):
    (row,) = duckdb.sql(query).fetchall()
    return row


assert one("SELECT count(*) FROM 'out/release/persons.parquet' p ANTI JOIN 'out/release/households.parquet' USING (hid)") == (0,)
assert one("SELECT count(*) FROM 'out/release/visits.parquet' v ANTI JOIN 'out/release/persons.parquet' USING (pid)") == (0,)
released, original = (one(f"SELECT count(*), avg(income) FROM '{f}'") for f in ["out/release/persons.parquet", "target/persons.parquet"])
assert released[0] == original[0] > 1000 and released[1] != original[1], (released, original)
(summary,), = duckdb.connect("target/care.duckdb", read_only=True).sql("SELECT summary FROM release").fetchall()
assert '"status": 0' in summary, summary
P
rm -r out
sed -i 's/min_k: 3}/min_k: 500}/' project.yaml
! dbt build >"$dir/log" 2>&1 || fail "dbt build succeeds where the gate withholds"
grep -q 'status 4' "$dir/log" || fail "dbt does not say that the gate has refused"
[[ ! -e out/release ]] || fail "what was withheld is there"
