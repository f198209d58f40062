#!/usr/bin/env bash
# Has Spin go through every order of the steps in internal/model/*.pml, and find what each of the wrong
# steps that a model names (after "Wrong:") breaks. It needs spin and gcc, which are installed where missing.
#
#   scripts/test-model.sh                         all models, as they are and with each wrong step
#   scripts/test-model.sh trail stream NO_FENCE   the steps to a failure
set -euo pipefail
cd "$(dirname "$0")/.."
models=$PWD/internal/model
if ! command -v spin >/dev/null || ! command -v gcc >/dev/null; then
  sudo=
  [[ $(id -u) == 0 ]] || sudo=sudo
  $sudo apt-get update -q >&2
  $sudo apt-get install -qy --no-install-recommends spin gcc libc6-dev >&2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# explore MODEL [WRONG] prints what the checker says.
explore() {
  rm -f pan ./*.trail
  cp "$models/$1.pml" . # its trail is written beside it
  spin -a ${2:+-D$2} "$1.pml"
  gcc $([[ ${2:-} ]] && echo -O0 || echo -O2) -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c
  timeout 600 ./pan -m500000
}

if [[ ${1:-} == trail ]]; then
  explore "$2" "${3:-}" || true
  spin -t -p -g ${3:+-D$3} "$2.pml"
  exit
fi

failed=0
for file in "$models"/*.pml; do
  model=$(basename "$file" .pml)
  found=$(explore "$model")
  states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' <<<"$found")
  if grep -q 'errors: 0$' <<<"$found" && ! grep -q 'max search depth too small' <<<"$found"; then
    printf '%-12s holds in all %s states\n' "$model" "$states"
  else
    printf '%s\n%s: see %s trail %s\n' "$found" "$model" "$0" "$model"
    failed=1
  fi
  wrongs=$(sed -n '/^ \* Wrong:/,/^ \*\/$/p' "$file" | grep -oE '\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b')
  for wrong in $wrongs; do
    found=$(explore "$model" "$wrong")
    if grep -q 'errors: 0$' <<<"$found"; then
      printf '%s: %s breaks nothing\n' "$model" "$wrong"
      failed=1
    else
      printf '%-12s without its step, %s: found\n' "$model" "$wrong"
    fi
  done
done
exit $failed
