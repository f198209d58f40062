#!/usr/bin/env bash
# Tests under a clock of the calendar that somebody sets twice a second: by hours back, by days and by a month ahead. The program, the brokers
# in the process and the tests all see it (time.Now of the standard library is replaced by -overlay); the monotonic clock runs on. Left out are
# the tests of which the clock of the calendar is the subject.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
of=$(go env GOROOT)/src/time/time.go
python3 - "$of" "$work" <<'PY'
import json, sys
of, work = sys.argv[1:]
text, at = open(of).read(), "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
assert text.count(at) == 1
text = text.replace(at, at + "\tsec += settings[mono/500_000_000%int64(len(settings))]\n")
text += "\nvar settings = [...]int64{0, 3 * 86400, -5 * 3600, 0, 30 * 86400, -12 * 3600}\n"
open(work + "/time.go", "w").write(text)
json.dump({"Replace": {of: work + "/time.go"}}, open(work + "/overlay.json", "w"))
PY
# Of these the calendar is the subject: certificates, the times of a snapshot, by what a broker that compacts goes, and by what a timestamp is refused.
skip=${SKIP:-TestTLS|TestSnapshotsOfAStream|TestStreamTotalsSurviveCompaction|TestClockThatIsWrong}
packages=("$@")
[[ $# -gt 0 ]] || packages=(./connectors/kafka ./internal/standing ./internal/rolling ./internal/publish ./internal/pipeline/stream ./internal/pipeline/tabling ./internal/pipeline/filejob)
go test -overlay "$work/overlay.json" -vet=off -short -count=1 -timeout 30m -skip "$skip" "${packages[@]}"
