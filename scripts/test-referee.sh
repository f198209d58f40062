#!/usr/bin/env bash
# The referee of `sdlfilter attack` against anonymeter, SDMetrics and statsmodels, run anew. With a number of records it
# also compares the time: the CPU seconds of anonymeter's attacks and those of the program, on the same files.
#
#   scripts/test-referee.sh [RECORDS]
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/referee
mkdir -p "$cache"
python=$(scripts/venv.sh "$cache/venv" anonymeter==1.1.0 sdmetrics==0.32.0 statsmodels==0.15.0)
"$python" scripts/reference/referee.py >"$cache/reference.json"
"$python" scripts/reference/referee.py models >"$cache/models.json"
REFEREE_REFERENCE=$cache go test -count 1 -run Agree ./internal/intruder/referee
if [[ $# -gt 0 ]]; then
  go build -trimpath -o "$cache/sdlfilter" ./cmd/sdlfilter
  theirs=$("$python" scripts/reference/referee.py time "$1" "$cache")
  TIMEFORMAT='%U'
  ours=$({ time "$cache/sdlfilter" attack --original "$cache/original.csv" --released "$cache/released.csv" --control "$cache/control.csv" \
    --aux age,sex,educ,married --aux wage,region --json >/dev/null 2>&1; } 2>&1)
  echo "anonymeter: $theirs s of CPU; the program, with all else that it measures: $ours s"
fi
