#!/usr/bin/env bash
# Holds this commit's CPU seconds against its parent's on a small file, alternating, and
# warns where they have grown. It fails only where a program does not run.
#
#   scripts/bench-guard.sh [COMMIT] [-runs 7] [-records 300000]
set -euo pipefail
cd "$(dirname "$0")/.."
parent=HEAD~1
if [[ $# -gt 0 && $1 != -* ]]; then parent=$1; shift; fi
if ! git rev-parse --verify --quiet "$parent^{commit}" >/dev/null; then
  echo "no $parent in this checkout: there is nothing to compare with"
  exit 0
fi
cache=$PWD/.cache/bench
mkdir -p "$cache"
export CGO_ENABLED=0
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree" >/dev/null 2>&1 || rm -rf "$tree"; git worktree prune' EXIT
git worktree add --quiet --detach "$tree" "$parent"
if ! (cd "$tree" && go build -o "$cache/sdlfilter.parent" ./cmd/sdlfilter); then
  echo "$parent does not build: there is nothing to compare with"
  exit 0
fi
go build -o "$cache/sdlfilter" ./cmd/sdlfilter
(cd verify && go build -o "$cache/bench" ./bench)
records=300000
[ -e "$cache/attack$records.original.parquet" ] || "$cache/bench" data-attack -dir "$cache" -released $records
echo "this commit and $(git rev-parse --short "$parent"), alternating:"
"$cache/bench" guard -dir "$cache" -before "$cache/sdlfilter.parent" -after "$cache/sdlfilter" -records $records "$@" 2>"$cache/guard.log" || { tail -3 "$cache/guard.log"; exit 1; }
