#!/usr/bin/env bash
# Tables of Iceberg: releases are killed while they are written and committed, and read back by
# pyiceberg (folders and a REST catalog on loopback) and DuckDB. With SPARK=1 also by Spark, which in
# turn writes tables with deleted records and changed columns (minutes the first time; needs Java and
# Maven). KILLS=N: how many runs are killed; 10 by default.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/iceberg
mkdir -p "$cache"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 PYTHONDONTWRITEBYTECODE=1
go test -count=1 -timeout 30m -v -short -run '^TestKilled$' ./connectors/iceberg -args -kills "${KILLS:-10}" | tee "$work/out"
grep -q -- '--- PASS: TestKilled' "$work/out" # and not skipped
go build -o "$cache/sdlfilter" ./cmd/sdlfilter
python=$(scripts/venv.sh "$cache/venv" 'pyiceberg[sql-sqlite,pyarrow]==0.12.0' duckdb==1.5.5 duckdb-extension-iceberg==1.5.5 duckdb-extension-avro==1.5.5)
mkdir "$work/tables"
"$python" scripts/test_iceberg.py "$cache/sdlfilter" "$work/tables"
[[ -n ${SPARK:-} ]] || exit 0
jar=iceberg-spark-runtime-4.1_2.13
version=1.12.0
if [[ ! -f $cache/$jar-$version.jar ]]; then
  mvn -q dependency:get "-Dartifact=org.apache.iceberg:$jar:$version" -Dtransitive=false
  mvn -q dependency:copy "-Dartifact=org.apache.iceberg:$jar:$version" "-DoutputDirectory=$cache"
fi
python=$(scripts/venv.sh "$cache/spark" pyspark==4.1.1)
mkdir "$work/spark"
"$python" scripts/test_iceberg_spark.py "$cache/sdlfilter" "$work/spark" "$cache/$jar-$version.jar" 2> >(grep -v WARN >&2)
