#!/bin/sh
# Runs the keystream's and the masks' tests as arm64 code, so that the bits of every
# draw and of every released value are known to be the same there, and looks through the arm64 code for fused
# multiply-adds, which would round differently from amd64.
# Needs Go and qemu-user; installs the latter where apt-get can.
set -eu
cd "$(dirname "$0")/.."

if [ "$(uname -m)" = aarch64 ]; then
	emulator=
else
	emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
	if [ -z "$emulator" ]; then
		apt-get install -y -q qemu-user >/dev/null || {
			apt-get update -q >/dev/null
			apt-get install -y -q qemu-user >/dev/null
		}
		emulator=$(command -v qemu-aarch64)
	fi
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go test -c -o "$dir/keystream.test" ./transform/keystream

# The package's own functions alone: tests compute references with package math.
go tool objdump -s 'transform/keystream\.' "$dir/keystream.test" >"$dir/code"
grep -q 'draws\.go' "$dir/code" || { echo "no code of transform/keystream was found" >&2; exit 1; }
if grep -v '_test\.go' "$dir/code" | grep -E '[[:space:]]FN?M(ADD|SUB)[SD]?[[:space:]]'; then
	echo "transform/keystream has fused multiply-adds on arm64: wrap the products in float64()" >&2
	exit 1
fi

# Vectors hold the bits; the numeric tests and a short run of the laws come along.
cd transform/keystream
$emulator "$dir/keystream.test" -test.short -test.v \
	-test.run 'TestVectors|TestBlocksAgainstLibrary|TestRoundKeys|TestWrongEngine|TestZiggurat|TestNormalQuantile|TestNormalCDF|TestLogExp|TestLaplaceFunctions|TestLimits|TestCounterLayout|TestMACAgainstDefinition|TestDigestsByValueNotByFormat|ExampleKey_Stream' |
	tee "$dir/out"
grep -q '^--- PASS: TestVectors' "$dir/out"
grep -q '^--- PASS: TestBlocksAgainstLibrary' "$dir/out"
grep -q '^PASS$' "$dir/out"

# What the masks release is pinned by a hash.
cd ../..
CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go test -c -o "$dir/transform.test" ./transform
cd transform
$emulator "$dir/transform.test" -test.short -test.v -test.run 'TestReleasedBits' | tee "$dir/out"
grep -q '^--- PASS: TestReleasedBits' "$dir/out"
