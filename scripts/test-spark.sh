#!/usr/bin/env bash
# Releases by Spark: builds the program, and runs the tests of sdlfilter.spark on PySpark's
# local cluster of two executors. Needs Python, Go and Java.
#
#   scripts/test-spark.sh [ARGUMENTS of pytest]
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/spark
mkdir -p "$cache"
python=$cache/venv/bin/python
if ! "$python" -m pip --version >/dev/null 2>&1; then
  rm -rf "$cache/venv"
  python3 -m venv "$cache/venv" || {
    apt-get update -q && apt-get install -qy python3-venv
    python3 -m venv "$cache/venv"
  }
fi
command -v java >/dev/null || { apt-get update -q && apt-get install -qy openjdk-17-jre-headless; }
wants='pyspark==4.3.0 pyarrow==26.0.1 pyyaml==6.0.3 numpy==2.4.6 pytest==9.2.0'
if [[ $(cat "$cache/wants" 2>/dev/null) != "$wants" ]]; then
  # shellcheck disable=SC2086
  "$python" -m pip install -q --disable-pip-version-check $wants
  echo "$wants" >"$cache/wants"
fi
export CGO_ENABLED=0 SDLFILTER_BINARY=$cache/sdlfilter PYTHONPATH=$PWD/python/src:$PWD/python/tests_spark PYTHONDONTWRITEBYTECODE=1
go build -trimpath -o "$SDLFILTER_BINARY" ./cmd/sdlfilter
cd python
"$python" -m pytest -q -p no:cacheprovider tests_spark "$@"
