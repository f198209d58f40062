#!/usr/bin/env bash
# Object storage on servers of other people, on loopback: VersityGW, which the Go proxy has,
# moto, which PyPI has, fake-gcs-server, which the Go proxy has, and Azurite, which npm has. What is asked of them is what the tests ask
# of the server in the process, and whole releases. SERVERS chooses: versitygw, moto, gcs, azurite.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/objects
mkdir -p "$cache"
work=$(mktemp -d)
server=
finish() {
  [[ -z $server ]] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
  server=
  unset SDLFILTER_TEST_S3 SDLFILTER_TEST_GS SDLFILTER_TEST_AZ
}
trap 'finish; rm -rf "$work"' EXIT

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# answering PORT waits until the server listens.
answering() {
  for _ in $(seq 1200); do
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
    kill -0 "$server" || break
    sleep 0.1
  done
  cat "$work/log"
  exit 1
}

# passes PACKAGE PATTERN TEST has the tests run, and TEST among them.
passes() {
  CGO_ENABLED=0 go test -count=1 -v -run "$2" "$1" | tee "$work/out"
  grep -q -- "--- PASS: $3" "$work/out" # and not left out
}

s3() {
  export SDLFILTER_TEST_S3=http://127.0.0.1:$1 SDLFILTER_TEST_S3_ACCESS_KEY=access SDLFILTER_TEST_S3_SECRET_KEY=a-secret-of-the-tests
}

versitygw() {
  [[ -x $cache/versitygw ]] || GOBIN=$cache go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
  mkdir -p "$work/data/release"
  port=$(free_port)
  s3 "$port"
  ROOT_ACCESS_KEY=$SDLFILTER_TEST_S3_ACCESS_KEY ROOT_SECRET_KEY=$SDLFILTER_TEST_S3_SECRET_KEY \
    "$cache/versitygw" --port "127.0.0.1:$port" posix "$work/data" >"$work/log" 2>&1 &
  server=$!
  answering "$port"
  passes ./internal/objects/s3 /real TestContract/real/conditions
  passes ./internal/ledger '(Everywhere|OneOf|Probes)/real' TestOneOfSeveralEnters/real_s3
  passes ./cmd/sdlfilter TestObjectsReal TestObjectsReal/s3/parquet
  finish
}

# moto does not keep to If-Match of CompleteMultipartUpload.
moto() {
  [[ -x $cache/moto/bin/moto_server ]] || { python3 -m venv "$cache/moto" && "$cache/moto/bin/pip" install -q 'moto[server,s3]==5.2.5'; }
  port=$(free_port)
  s3 "$port"
  "$cache/moto/bin/moto_server" -H 127.0.0.1 -p "$port" >"$work/log" 2>&1 &
  server=$!
  answering "$port"
  python3 -c 'import sys, urllib.request as u; u.urlopen(u.Request(sys.argv[1], method="PUT"))' "$SDLFILTER_TEST_S3/release"
  SDLFILTER_TEST_S3_COMPLETES_OVER=1 passes ./internal/objects/s3 /real TestContract/real/conditions
  passes ./internal/ledger '(Everywhere|OneOf|Probes)/real' TestOneOfSeveralEnters/real_s3
  passes ./cmd/sdlfilter TestObjectsReal TestObjectsReal/s3/parquet
  finish
}

gcs() {
  [[ -x $cache/fake-gcs-server ]] || GOBIN=$cache go install github.com/fsouza/fake-gcs-server@v1.56.1
  port=$(free_port)
  export SDLFILTER_TEST_GS=127.0.0.1:$port
  "$cache/fake-gcs-server" -scheme http -host 127.0.0.1 -port "$port" -backend memory -log-level error >"$work/log" 2>&1 &
  server=$!
  answering "$port"
  python3 -c 'import sys, urllib.request as u; u.urlopen(u.Request(sys.argv[1], data=b"{\"name\": \"release\"}", headers={"Content-Type": "application/json"}))' "http://$SDLFILTER_TEST_GS/storage/v1/b?project=p"
  passes ./internal/objects/gs /real TestContract/real/conditions
  passes ./internal/ledger '(Everywhere|OneOf|Probes)/real' TestOneOfSeveralEnters/real_gs
  passes ./cmd/sdlfilter TestObjectsReal TestObjectsReal/gs/parquet
  finish
}

azurite() {
  [[ -x $cache/azurite/node_modules/.bin/azurite-blob ]] || npm install --no-audit --no-fund --silent --prefix "$cache/azurite" azurite@3.37.0
  port=$(free_port)
  # The account and the key that it has for everybody.
  local key=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==
  export SDLFILTER_TEST_AZ="DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=$key;BlobEndpoint=http://127.0.0.1:$port/devstoreaccount1;"
  # It knows fewer versions of the protocol than the client.
  node "$cache/azurite/node_modules/.bin/azurite-blob" --blobPort "$port" --inMemoryPersistence --skipApiVersionCheck --disableTelemetry --silent >"$work/log" 2>&1 &
  server=$!
  answering "$port"
  passes ./internal/objects/az /real TestContract/real/conditions
  passes ./internal/ledger '(Everywhere|OneOf|Probes)/real' TestOneOfSeveralEnters/real_az
  passes ./cmd/sdlfilter TestObjectsReal TestObjectsReal/az/parquet
  finish
}

for s in ${SERVERS:-versitygw moto gcs azurite}; do
  printf -- '--- %s\n' "$s"
  "$s"
done
