#!/usr/bin/env bash
# Releases by Spark: builds the program, and runs the tests of sdlfilter.spark on PySpark's
# local cluster of two executors, from and to files and objects. Needs Python, Go and Java.
#
#   scripts/test-spark.sh [ARGUMENTS of pytest]
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/spark
mkdir -p "$cache"
command -v java >/dev/null || { apt-get update -q && apt-get install -qy openjdk-17-jre-headless; }
python=$(scripts/venv.sh "$cache/venv" pyspark==4.3.0 pyarrow==26.0.1 pyyaml==6.0.3 numpy==2.4.6 pytest==9.2.0 'moto[server,s3]==5.2.5')
export CGO_ENABLED=0 SDLFILTER_BINARY=$cache/sdlfilter PYTHONPATH=$PWD/python/src:$PWD/python/tests_spark PYTHONDONTWRITEBYTECODE=1
go build -o "$SDLFILTER_BINARY" ./cmd/sdlfilter
cd python
"$python" -m pytest -q -p no:cacheprovider tests_spark "$@"
