#!/usr/bin/env bash
# From and to S3 on loopback against files: see scripts/bench_objects.py. Everything it makes
# goes to .cache/bench; test-objects.sh has brought the server.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=.cache/bench
gateway=.cache/objects/versitygw
[[ -x $gateway ]] || GOBIN=$PWD/.cache/objects GOFLAGS= go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
mkdir -p "$cache"
python=$(scripts/venv.sh "$cache/venv" duckdb==2.0.0)
data=$(mktemp -d "$PWD/$cache/objects.XXXXXX")
server=
finish() {
  [[ -z $server ]] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  rm -rf "$data"
}
trap finish EXIT
mkdir -p "$data/bench"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export AWS_ENDPOINT_URL_S3=http://127.0.0.1:$port AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=access AWS_SECRET_ACCESS_KEY=a-secret-of-the-bench AWS_EC2_METADATA_DISABLED=true
ROOT_ACCESS_KEY=$AWS_ACCESS_KEY_ID ROOT_SECRET_KEY=$AWS_SECRET_ACCESS_KEY "$gateway" --port "127.0.0.1:$port" posix "$data" >"$data/log" 2>&1 &
server=$!
for _ in $(seq 600); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  kill -0 "$server"
  sleep 0.1
done
"$python" scripts/bench_objects.py --cache "$cache" --server "$server" "$@"
