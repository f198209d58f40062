#!/usr/bin/env bash
# Releases from and into Debian's PostgreSQL, on a port of its own of loopback and with its
# files in a temporary folder. Installs the server where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/postgres.sh
work=$(mktemp -d)
trap 'postgres_stop || true; rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/server"
postgres_start "$work/server"
# passes PACKAGE PATTERN TEST [FLAG]… has the tests run, and TEST among them.
passes() {
  CGO_ENABLED=0 go test -count=1 -timeout 30m -v -run "$2" "$1" "${@:4}" | tee "$work/out"
  grep -q -- "--- PASS: $3" "$work/out" # and not skipped
}
passes ./connectors/postgres 'Server' TestServerTypes
passes ./internal/ledger '(Everywhere|OneOf|Probes|RequestsFail|TablesAreHeld)/postgres' TestRequestsFail/postgres
passes ./cmd/sdlfilter 'Postgres' TestPostgresEqualsCSV ${KILLS:+-kills "$KILLS"}
