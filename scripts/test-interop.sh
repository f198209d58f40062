#!/usr/bin/env bash
# Other libraries read what the program writes, and write what it reads: the Go
# tests of interop/ (arrow/go v15, xitongsys/parquet-go), then pyarrow and DuckDB.
# HiGHS computes the ranges of hidden cells of tables anew.
#
#   scripts/test-interop.sh           everything
#   scripts/test-interop.sh NAME ...  the Python cases whose name holds NAME
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/interop
mkdir -p "$cache"
python=$cache/venv/bin/python
if ! "$python" -m pip --version >/dev/null 2>&1; then
  rm -rf "$cache/venv"
  python3 -m venv "$cache/venv" || {
    apt-get update -q && apt-get install -qy python3-venv
    python3 -m venv "$cache/venv"
  }
fi
"$python" -m pip freeze -q | sort | grep -cxE 'duckdb==2\.0\.0|highspy==1\.15\.1|pyarrow==26\.0\.1' | grep -qx 3 ||
  "$python" -m pip install -q --disable-pip-version-check 'pyarrow==26.0.1' 'duckdb==2.0.0' 'highspy==1.15.1'

export CGO_ENABLED=0 SDLFILTER_BINARY=$cache/sdlfilter
go build -trimpath -o "$SDLFILTER_BINARY" ./cmd/sdlfilter

passed=0 failed=0 status=0
if [[ $# == 0 ]]; then
  (cd interop && go vet ./... && go test -count=1 -v ./...) >"$cache/go.log" 2>&1 || status=1
  SDLFILTER_HIGHS=$python go test -count=1 -v -run HiGHS ./internal/tables/... >>"$cache/go.log" 2>&1 || status=1
  passed=$(grep -cE '^ *--- PASS' "$cache/go.log" || true)
  failed=$(grep -cE '^ *--- FAIL' "$cache/go.log" || true)
  [[ $status == 0 ]] || { cat "$cache/go.log"; [[ $failed != 0 ]] || failed=1; }
fi
PYTHONDONTWRITEBYTECODE=1 "$python" interop/pyarrow_varieties.py "$@" | tee "$cache/python.log" || status=1
counts=$(sed -nE 's/^python: ([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$cache/python.log")
read -r p f <<<"${counts:-0 1}"
echo "$((passed + p)) passed, $((failed + f)) failed"
exit "$status"
