#!/usr/bin/env bash
# A release by Spark beside Spark's own copy: see scripts/bench_spark.py. Everything it makes
# goes to .cache/bench. Needs Python and Java.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache/bench
command -v java >/dev/null || { apt-get update -q && apt-get install -qy openjdk-17-jre-headless; }
python=$(scripts/venv.sh .cache/bench/spark-venv pyspark==4.3.0 pyarrow==26.0.1 pyyaml==6.0.3 duckdb==2.0.0)
export SDLFILTER_BINARY=${SDLFILTER_BINARY:-$PWD/bin/sdlfilter} PYTHONPATH=$PWD/python/src:$PWD/scripts PYTHONDONTWRITEBYTECODE=1
"$python" scripts/bench_spark.py "$@"
