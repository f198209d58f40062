#!/usr/bin/env bash
# Assembles the image's last stage from `scratch`, as the Dockerfile has it, and runs
# the program in it: what the image holds, who runs it, and that a run on mounted data
# writes what a run outside writes. No image registry is needed: the stage in front of
# it only compiles, which is done here.
#
#   scripts/test-image.sh [PROGRAM]     by default one that is built for it
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v buildah >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  echo "installing buildah"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends buildah >/dev/null
fi
if ! command -v buildah >/dev/null; then
  echo "test-image: needs buildah: apt-get install buildah" >&2
  exit 1
fi

work=$(mktemp -d)
# Storage of its own, without a daemon, overlays or a cgroup of its own.
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
b() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }
container=
finish() {
  [[ -z $container ]] || b rm "$container" >/dev/null
  rm -rf "$work"
}
trap finish EXIT
fail() { echo "test-image: $*" >&2; exit 1; }

# The last stage alone, with what it copies from the one before it.
context=$work/context
mkdir -p "$context/etc/ssl/certs"
if [[ $# == 1 ]]; then
  cp "$1" "$context/sdlfilter"
else
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$context/sdlfilter" ./cmd/sdlfilter
fi
if [[ -f /etc/ssl/certs/ca-certificates.crt ]]; then
  cp /etc/ssl/certs/ca-certificates.crt "$context/etc/ssl/certs/"
else
  : >"$context/etc/ssl/certs/ca-certificates.crt"
fi
sed -n '/^FROM scratch$/,$p' Dockerfile | sed 's/--from=build //' >"$work/Dockerfile"
[[ -s $work/Dockerfile ]] || fail "the Dockerfile has no stage FROM scratch"
b bud --quiet --format docker --file "$work/Dockerfile" --tag sdlfilter-test "$context" >/dev/null

# What stands in it, and who runs it.
container=$(b from --pull-never sdlfilter-test)
inspect() { b inspect --type image --format "$1" sdlfilter-test; }
[[ $(inspect '{{.Docker.Config.User}}') == 65532:65532 ]] || fail "the image runs as $(inspect '{{.Docker.Config.User}}')"
[[ $(inspect '{{.Docker.Config.Entrypoint}}') == "[/sdlfilter]" ]] || fail "the entrypoint is $(inspect '{{.Docker.Config.Entrypoint}}')"
[[ $(inspect '{{.Docker.Config.WorkingDir}}') == /data ]] || fail "the working directory is $(inspect '{{.Docker.Config.WorkingDir}}')"
root=$(b mount "$container")
files=$(cd "$root" && find . -type f | sort | tr '\n' ' ')
[[ $files == "./etc/ssl/certs/ca-certificates.crt ./sdlfilter " ]] || fail "the image holds $files"
b umount "$container" >/dev/null

# A run on mounted data: the configuration and the data can be read, and only the
# folder of what is written is the user's own.
mkdir -p "$work/data/examples/cps" "$work/data/out"
cp examples/cps/cps1988.parquet examples/cps/pipeline.yaml "$work/data/examples/cps/"
chmod -R a+rX "$work/data"
"$context/sdlfilter" keygen --out "$work/data/out/demo.key"
chown -R 65532:65532 "$work/data/out" 2>/dev/null || chmod -R a+rwX "$work/data/out"
in_image() { b run --user 65532:65532 --volume "$work/data:/data" --workingdir /data "$container" -- /sdlfilter "$@"; }
in_image version
[[ $(in_image validate examples/cps/pipeline.yaml) == *": valid"* ]] || fail "the configuration is not valid in the image"
in_image run --quiet examples/cps/pipeline.yaml
in_image verify out/report.json
[[ $(stat -c %u "$work/data/out/cps1988.parquet") == 65532 || $(id -u) != 0 ]] || fail "the release belongs to $(stat -c %u "$work/data/out/cps1988.parquet")"
mv "$work/data/out" "$work/data/inside"
mkdir "$work/data/out"
cp "$work/data/inside/demo.key" "$work/data/out/"
(cd "$work/data" && "$context/sdlfilter" run --quiet examples/cps/pipeline.yaml)
cmp "$work/data/inside/cps1988.parquet" "$work/data/out/cps1988.parquet" || fail "the image releases other bytes"
# A mistake has its exit status there as well.
status=0
in_image run nowhere.yaml 2>/dev/null || status=$?
[[ $status == 2 ]] || fail "a missing configuration ends with status $status, not 2"
echo "the image is assembled from scratch, runs, and releases what the program outside it releases"
