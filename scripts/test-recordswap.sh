#!/usr/bin/env bash
# Compares the mask recordswap with sdcMicro's recordSwap: test-recordswap.sh SDCMICRO, a folder with its source.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ $# -lt 1 || ! -f $1/src/recordSwap/recordSwap.cpp ]]; then
  echo "test-recordswap: not run: give the folder with sdcMicro's source (make test-recordswap SDCMICRO=FOLDER)" >&2
  exit 1
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
g++ -O2 -std=c++17 -I "$1/src/recordSwap" scripts/reference/recordswap.cpp -o "$out/theirs"
"${GO:-go}" build -o "$out/ours" ./cmd/sdlfilter
python3 scripts/reference/recordswap.py "$out/theirs" "$out/ours"
