#!/usr/bin/env bash
# Object storage on a server of other people: VersityGW, which the Go proxy has, on
# loopback. What is asked of it is what the tests ask of the server in the process.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v1.8.0
cache=$PWD/.cache/objects
mkdir -p "$cache"
[[ -x $cache/versitygw ]] || GOBIN=$cache GOFLAGS= go install "github.com/versity/versitygw/cmd/versitygw@$version"
work=$(mktemp -d)
server=
finish() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
mkdir -p "$work/data/release"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export SDLFILTER_TEST_S3=http://127.0.0.1:$port SDLFILTER_TEST_S3_ACCESS_KEY=access SDLFILTER_TEST_S3_SECRET_KEY=a-secret-of-the-tests
ROOT_ACCESS_KEY=$SDLFILTER_TEST_S3_ACCESS_KEY ROOT_SECRET_KEY=$SDLFILTER_TEST_S3_SECRET_KEY \
  "$cache/versitygw" --port "127.0.0.1:$port" posix "$work/data" >"$work/log" 2>&1 &
server=$!
for _ in $(seq 600); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  kill -0 "$server" || { cat "$work/log"; exit 1; }
  sleep 0.1
done
CGO_ENABLED=0 go test -count=1 -v -run '/real' ./internal/objects/s3 | tee "$work/out"
grep -q -- '--- PASS: TestConditions/real' "$work/out" # and not skipped
