#!/usr/bin/env bash
# Side by side with DuckDB: see scripts/bench.py --help. Everything it makes goes
# to .cache/bench (about 3 GB).
set -euo pipefail
cd "$(dirname "$0")/.."
cache=.cache/bench
mkdir -p "$cache"
if [ ! -x "$cache/venv/bin/python" ]; then
  python3 -m venv "$cache/venv" || { apt-get update -q && apt-get install -qy python3-venv && python3 -m venv "$cache/venv"; }
fi
"$cache/venv/bin/python" -c 'import duckdb' 2>/dev/null || "$cache/venv/bin/pip" install -q 'duckdb==2.0.0'
exec "$cache/venv/bin/python" scripts/bench.py --cache "$cache" "$@"
