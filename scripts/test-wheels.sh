#!/usr/bin/env bash
# The wheels are what they claim: made twice they are the same bytes; the one for this machine is installed without a
# network, and runs the README's example where there is no Go, whatever lies on PATH and in the folder under the program's
# name; that for arm64 runs under qemu; those for macOS hold programs for macOS, which nothing here can run.
#
#   scripts/test-wheels.sh [linux/amd64 ...]     by default all platforms
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "test-wheels: $*" >&2; exit 1; }
[[ $# != 0 ]] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
cache=$PWD/.cache/wheels
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rm -rf "$cache/dist"
scripts/wheels.sh "$cache/dist" "$@"
# Again from another folder, with what git knows of and no more.
mkdir "$work/again"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$work/again"
ln -s "$PWD/.cache" "$work/again/.cache"
"$work/again/scripts/wheels.sh" "$work/dist" "$@"
(cd "$cache/dist" && sha256sum -- *.whl) | (cd "$work/dist" && sha256sum --quiet -c) || fail "the same commit gives other bytes"

python=$cache/venv/bin/python
"$python" scripts/wheels/contents.py "$cache/dist" "$work/programs" "$@"

# The example, without a network and without Go.
example() {
  needs=(pyarrow==26.0.1 pyyaml==6.0.3)
  [[ -d $cache/needs ]] || "$python" -m pip download -q --disable-pip-version-check -d "$cache/needs" "${needs[@]}"
  python3 -m venv "$work/venv"
  mkdir "$work/here" "$work/planted"
  printf '#!/bin/sh\necho planted >&2\nexit 9\n' >"$work/planted/sdlfilter"
  chmod +x "$work/planted/sdlfilter"
  cp "$work/planted/sdlfilter" "$work/here/"
  cp examples/cps/cps1988.parquet "$work/here/original.parquet"
  alone=
  unshare -n true 2>/dev/null && alone="unshare -n"
  clean() { (cd "$work/here" && env -i HOME="$work" PATH="$work/planted:$work/venv/bin:/usr/bin:/bin" $alone "$@"); }
  if clean sh -c 'command -v go' >/dev/null; then fail "there is a Go on the PATH of the test"; fi
  clean pip install -q --disable-pip-version-check --no-index --find-links "$cache/needs" --find-links "$cache/dist" sdlfilter
  clean python - <"scripts/wheels/example.py" "$PWD/python/README.md" "$PWD/examples/cps/pipeline.yaml"
}
here=linux/$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
[[ " $* " != *" $here "* ]] || example

if [[ " $* " == *" linux/arm64 "* ]]; then
  emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
  if [[ -z $emulator ]]; then
    { apt-get install -y -q qemu-user || { apt-get update -q && apt-get install -y -q qemu-user; }; } >/dev/null
    emulator=$(command -v qemu-aarch64)
  fi
  [[ $($emulator "$work/programs/linux_arm64" version) == *linux/arm64* ]] || fail "the program for arm64 does not run"
fi
echo "the wheels for $* are what they claim$([[ " $*" != *darwin* ]] || echo "; those for macOS were looked at, and tried on no Mac")"
