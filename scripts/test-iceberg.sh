#!/usr/bin/env bash
# Tables of Iceberg: releases are killed while they are written and committed, and read back by
# pyiceberg (folders, a REST catalog on loopback, a SQL catalog in Debian's PostgreSQL, object storage of moto, an S3
# server) and DuckDB. With SPARK=1 also by Spark, which in
# turn writes tables with deleted records and changed columns (minutes the first time; needs Java and
# Maven). KILLS=N: how many runs are killed; 10 by default.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/postgres.sh
cache=$PWD/.cache/iceberg
mkdir -p "$cache"
work=$(mktemp -d)
moto=
finish() {
  postgres_stop || true
  [[ -z $moto ]] || { kill "$moto" && wait "$moto"; } 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
chmod 755 "$work"
mkdir "$work/server"
export CGO_ENABLED=0 PYTHONDONTWRITEBYTECODE=1
go test -count=1 -timeout 30m -v -short -run '^TestKilled$' ./connectors/iceberg -args -kills "${KILLS:-10}" | tee "$work/out"
grep -q -- '--- PASS: TestKilled' "$work/out" # and not skipped
postgres_start "$work/server"
go test -count=1 -timeout 30m -v -run '^TestSQL' ./connectors/iceberg | tee "$work/out"
grep -q -- '--- PASS: TestSQLKilled' "$work/out"
go build -o "$cache/sdlfilter" ./cmd/sdlfilter
python=$(scripts/venv.sh "$cache/venv" 'pyiceberg[sql-sqlite,sql-postgres,pyarrow]==0.12.0' duckdb==1.5.5 duckdb-extension-iceberg==1.5.5 duckdb-extension-avro==1.5.5 duckdb-extension-httpfs==1.5.5)
s3=$(scripts/venv.sh "$cache/moto" 'moto[server,s3]==5.2.5')
mkdir "$work/tables"
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${s3%/*}/moto_server" -H 127.0.0.1 -p "$port" >"$work/moto" 2>&1 &
moto=$!
export AWS_ENDPOINT_URL_S3=http://127.0.0.1:$port AWS_ACCESS_KEY_ID=access AWS_SECRET_ACCESS_KEY=a-secret-of-the-tests AWS_REGION=us-east-1
for _ in $(seq 600); do
  "$python" -c 'import sys, urllib.request as u; u.urlopen(u.Request(sys.argv[1], method="PUT"))' "$AWS_ENDPOINT_URL_S3/lake" 2>/dev/null && break
  kill -0 "$moto"
  sleep 0.1
done
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
