#!/usr/bin/env bash
# Side by side with DuckDB: see scripts/bench.py --help. SCRIPT names another script that measures the same data. Everything it makes goes
# to .cache/bench (about 3 GB).
set -euo pipefail
cd "$(dirname "$0")/.."
cache=.cache/bench
mkdir -p "$cache"
python=$(scripts/venv.sh "$cache/venv" duckdb==2.0.0)
exec "$python" "scripts/${SCRIPT:-bench.py}" --cache "$cache" "$@"
