#!/usr/bin/env bash
# Makes a version out of the present commit, in out/release/VERSION: static programs, their bills of
# materials, checksums, a signature, the container image, and the tag. Nothing is published.
#
#   scripts/release.sh v1.2.3          SIGNING_KEY: an SSH key; TAG=no leaves the tag out
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "release: $*" >&2; exit 1; }

version=${1:-}
[[ $version =~ ^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$ ]] || fail "want a semantic version such as v1.2.3, got '$version'"
grep -q "^## ${version#v}\b" CHANGELOG.md || fail "CHANGELOG.md has no section ${version#v}"
[[ -z $(git status --porcelain) ]] || fail "the working tree has changes"
[[ ${TAG:-yes} == no ]] || ! git rev-parse -q --verify "refs/tags/$version" >/dev/null || fail "the tag $version exists"

to=$PWD/out/release/$version
[[ ! -e $to ]] || fail "$to exists"
mkdir -p "$to"
trap '[[ $? == 0 ]] || rm -rf "$to"' EXIT
# The same commit gives the same bytes, wherever it is built.
export CGO_ENABLED=0 GOFLAGS=
for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/arm64 windows/amd64}; do
  name=sdlfilter_${version#v}_${platform//\//_}
  [[ $platform != windows/* ]] || name+=.exe
  echo "building $name"
  GOOS=${platform%/*} GOARCH=${platform#*/} go build -trimpath -tags arrow_json_stdlib -buildvcs=false -ldflags "-s -w -X main.release=$version" -o "$to/$name" ./cmd/sdlfilter
  # The modules and their hashes as the program itself holds them.
  go version -m -json "$to/$name" | python3 scripts/sbom.py "$version" >"$to/$name.cdx.json"
done
man=$(mktemp -d)
go run ./cmd/sdlfilter man "$man/man1"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$man" -cf - man1 | gzip -n >"$to/sdlfilter_${version#v}_man.tar.gz"
rm -rf "$man"
if command -v buildah >/dev/null; then
  context=$(mktemp -d)
  mkdir -p "$context/etc/ssl/certs"
  cp "$to/sdlfilter_${version#v}_linux_amd64" "$context/sdlfilter"
  cp /etc/ssl/certs/ca-certificates.crt "$context/etc/ssl/certs/"
  sed -n '/^FROM scratch$/,$p' Dockerfile | sed 's/--from=build //' >"$context/Dockerfile"
  b() { STORAGE_DRIVER=vfs buildah --root "$context.storage" --runroot "$context.run" "$@"; }
  b bud --quiet --isolation chroot --timestamp 0 --format oci --file "$context/Dockerfile" --tag "sdlfilter:$version" "$context" >/dev/null
  b push --quiet "sdlfilter:$version" "oci-archive:$to/sdlfilter_${version#v}_image.tar:sdlfilter:$version"
  rm -rf "$context" "$context.storage" "$context.run"
else
  echo "release: no image: there is no buildah" >&2
fi
(cd "$to" && sha256sum -- * >SHA256SUMS)
if [[ -n ${SIGNING_KEY:-} ]]; then
  ssh-keygen -q -Y sign -f "$SIGNING_KEY" -n sdlfilter-release "$to/SHA256SUMS"
else
  echo "release: not signed: SIGNING_KEY is not set" >&2
fi
[[ ${TAG:-yes} == no ]] || git tag -a "$version" -m "sdlfilter $version"
echo "made $to"
