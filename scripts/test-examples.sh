#!/usr/bin/env bash
# The examples are what they claim: the Kubernetes manifests decode strictly into
# the API's types, the pipelines are valid, the alert rules pass promtool and fire
# when they should, the DAGs and dbt release and withhold, the units pass systemd-analyze.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/examples
mkdir -p "$cache"
export CGO_ENABLED=0
failed=0
step() { printf '%s\n' "$*"; }
fail() { printf '  FAIL %s\n' "$*"; failed=1; }

step "pipelines"
go build -o "$cache/sdlfilter" ./cmd/sdlfilter
for pipeline in examples/kubernetes/*/pipeline.yaml; do
  KAFKA_BROKER=127.0.0.1:9092 "$cache/sdlfilter" validate "$pipeline" >/dev/null || fail "$pipeline"
done

step "manifests"
(cd examples/kubernetes/check && go vet ./... && SDLFILTER="$cache/sdlfilter" go test ./...) || fail "manifests"

# promtool is taken out of Debian's package of Prometheus, which is not installed:
# a server that starts by itself is not wanted.
step "alert rules"
promtool=$(command -v promtool || true)
if [[ -z $promtool ]]; then
  promtool=$cache/prometheus/usr/bin/promtool
  if [[ ! -x $promtool ]]; then
    (cd "$cache" && { apt-get download -q prometheus || { apt-get update -qq && apt-get download -q prometheus; }; } >/dev/null &&
      rm -rf prometheus && dpkg -x prometheus_*.deb prometheus && rm prometheus_*.deb)
  fi
fi
"$promtool" check rules examples/prometheus/alerts.yaml >"$cache/promtool.log" 2>&1 &&
  (cd examples/prometheus && "$promtool" test rules alerts_test.yaml) >>"$cache/promtool.log" 2>&1 || {
  cat "$cache/promtool.log"
  fail "alert rules"
}

step "DAGs"
PYTHONDONTWRITEBYTECODE=1 python3 scripts/test_dags.py "$cache/sdlfilter" || fail "DAGs"

step "dbt"
scripts/test-dbt.sh "$cache/sdlfilter" "$cache" || fail "dbt"

step "units"
if command -v systemd-analyze >/dev/null; then
  # The program lies elsewhere here; only that may be complained of.
  systemd-analyze verify examples/systemd/*.service examples/systemd/*.timer 2>&1 |
    grep -v 'is not executable' | grep -i 'sdlfilter' && fail "units"
else
  echo "  systemd-analyze is not here: not looked at"
fi
[[ $failed == 0 ]] && echo "the examples are as they should be"
exit "$failed"
