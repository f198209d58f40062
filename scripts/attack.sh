#!/usr/bin/env bash
# Plays snoopers against releases of random data by random configurations, and holds what they
# reach against what the reports and the gates state (docs/testing.md).
#
#   scripts/attack.sh [--program FILE] [--cases N] [--from SEED] [--hours H] [--replay SEED [--keep FOLDER]] [--doctor]
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(scripts/venv.sh "$PWD/.cache/attack/venv" numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1)
export PYTHONDONTWRITEBYTECODE=1
# First that they notice a report which claims too much, then the reports as they are.
if [[ $# -eq 0 ]]; then
  "$python" scripts/attack --program bin/sdlfilter --doctor --cases 8 >/dev/null || {
    echo "the attacks do not notice reports that claim too much" >&2
    exit 1
  }
fi
exec "$python" scripts/attack --program bin/sdlfilter "$@"
