#!/usr/bin/env bash
# Compiles ReadStat with glue.c to readstat.wasm, on Debian. The sources come from the package registries, with
# their checksums: ReadStat from pyreadstat's source distribution, zlib from Debian. The same compiler makes the
# same bytes.
#
#   internal/readstat/wasm/build.sh          makes readstat.wasm anew
#   internal/readstat/wasm/build.sh --check  says whether it would be the same
set -euo pipefail
cd "$(dirname "$0")"
pyreadstat=1.3.7
pyreadstat_sha256=c15cc9f58edfd96afb850f65de252c52f5466ff27ce44772d3389d3a0c11b5ca
zlib=1.2.13.dfsg
zlib_sha256=71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! { command -v clang && command -v wasm-ld && [[ -f /usr/lib/wasm32-wasi/libc.a ]]; } >/dev/null; then
  apt-get update -q && apt-get install -qy --no-install-recommends clang lld wasi-libc libclang-rt-dev-wasm32
fi
python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary :all: -d "$work" "pyreadstat==$pyreadstat"
echo "$pyreadstat_sha256  $work/pyreadstat-$pyreadstat.tar.gz" | sha256sum -c --quiet
mkdir "$work/parts" "$work/lists"
sed 's/^Types: .*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$work/parts/src.sources"
from=(-q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/parts" -o "Dir::State::lists=$work/lists")
apt-get "${from[@]}" update
(cd "$work" && apt-get "${from[@]}" source --download-only zlib)
echo "$zlib_sha256  $work/zlib_$zlib.orig.tar.bz2" | sha256sum -c --quiet
tar -C "$work" -xzf "$work/pyreadstat-$pyreadstat.tar.gz"
tar -C "$work" -xjf "$work/zlib_$zlib.orig.tar.bz2"

src=$work/pyreadstat-$pyreadstat/src
z=$(echo "$work"/zlib-*/)
sources=(glue.c)
for c in "$src"/*.c "$src"/{spss,stata,sas}/*.c; do
  case $(basename "$c") in
  # The host is the only file system; what is not used is left out.
  readstat_io_unistd.c | *bcat* | *_por* | readstat_sas7bdat_write.c | readstat_xport_write.c) ;;
  *) sources+=("$c") ;;
  esac
done
for c in adler32 crc32 inflate inffast inftrees zutil deflate trees compress uncompr; do sources+=("$z$c.c"); done
# Its stack: with the linker's 64 KiB, the library overwrites its own data without a word.
clang --target=wasm32-wasi -O2 -mexec-model=reactor -w -DHAVE_ZLIB=1 -DHAVE_UNISTD_H -I"$z" -I"$src" \
  -Wl,--strip-all -Wl,-z,stack-size=1048576 -Wl,--stack-first -Wl,--initial-memory=4194304 -o "$work/readstat.wasm" "${sources[@]}"
if [[ ${1:-} == --check ]]; then
  cmp "$work/readstat.wasm" readstat.wasm && echo "readstat.wasm is what build.sh makes"
else
  cp "$work/readstat.wasm" readstat.wasm && chmod 644 readstat.wasm && ls -l readstat.wasm
fi
