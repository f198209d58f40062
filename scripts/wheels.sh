#!/usr/bin/env bash
# Builds the Python package with the program inside: a wheel for each platform, in the folder. The same commit gives the
# same bytes, with the same Go and the same Python.
#
#   scripts/wheels.sh FOLDER [linux/amd64 ...]     by default all platforms; SDLFILTER_RELEASE: what the program calls itself
set -euo pipefail
cd "$(dirname "$0")/.."
to=$(realpath -m "$1")
shift
[[ $# != 0 ]] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
python=$(scripts/venv.sh "$PWD/.cache/wheels/venv" hatchling==1.33.0 packaging==26.4 pathspec==1.1.1 pluggy==1.7.0 trove-classifiers==2026.9.21.13)
# No commit in the program: a change elsewhere would be another wheel. The dates in the archive are one and the same.
export GOFLAGS="$(go env GOFLAGS) -buildvcs=false" SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1577836800}
umask 022 # the archive has the modes of the files
mkdir -p "$to"
for platform; do
  GOOS=${platform%/*} GOARCH=${platform#*/} "$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$to" ./python
done
