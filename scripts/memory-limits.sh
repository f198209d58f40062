#!/usr/bin/env bash
# Runs masks that hold their columns under limits of memory (docs/reliability.md): each must complete or be refused, and
# complete with the limit that the refusal names. Needs root and control groups that it may write to.
#
#   scripts/memory-limits.sh [RECORDS]
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/bin/sdlfilter
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
awk -v n="${1:-1000000}" 'BEGIN {srand(1); print "id,sex,age,region,a,b,c"; for (i = 0; i < n; i++)
  printf "%d,%s,%d,%d,%d,%d,%.2f\n", i, rand() < .5 ? "m" : "f", 18 + 72*rand(), 1 + 40*rand(), 1000 + 98999*rand(), 1000 + 98999*rand(), 1e5*rand()}' >in.csv
"$program" keygen --quiet --out k

# limited runs p.yaml with so many MiB, and prints the status.
limited() {
  local mib=$1 group file status=0
  if [[ -d /sys/fs/cgroup/memory ]]; then
    group=/sys/fs/cgroup/memory/sdlfilter-$$ file=memory.limit_in_bytes
  else
    group=/sys/fs/cgroup/sdlfilter-$$ file=memory.max
  fi
  mkdir "$group"
  echo $((mib << 20)) >"$group/$file"
  (
    echo $BASHPID >"$group/cgroup.procs"
    exec "$program" run --quiet p.yaml >out 2>err
  ) 2>/dev/null || status=$?
  rmdir "$group"
  echo "$status"
}

failed=0
while IFS='|' read -r name mask; do
  cat >p.yaml <<EOF
version: 1
key: {file: k}
source: {csv: {path: in.csv}}
sink: {csv: {path: out.csv}}
columns: {id: {role: identifier}, sex: {role: key}, age: {role: key}, region: {role: key}, a: {role: other}, b: {role: other}, c: {role: other}}
masks: [{$mask}]
assess: {replicates: 2, targets: [max], intruder: {inversion: false}}
EOF
  line=$name
  named=
  for mib in 60 62 90 150; do
    case $(limited $mib) in
    0) line+=", $mib MiB completes" ;;
    2)
      line+=", $mib MiB is refused"
      named=$(grep -o 'a limit of [0-9]* MB' err | tr -dc 0-9 || true)
      ;;
    *) line+=", $mib MiB is KILLED" failed=1 ;;
    esac
  done
  if [[ -n $named ]]; then
    for _ in 1 2 3; do
      [[ $(limited $(((named * 1000000 + 1048575) >> 20))) == 0 ]] || { line+=", $named MB is KILLED" failed=1; }
    done
    line+="; named are $named MB"
  fi
  echo "$line"
done <<'EOF'
noise|noise: {columns: [a], sd: 500}
rankswap, 1 column|rankswap: {columns: [a], p: 0.05}
rankswap, 3 columns|rankswap: {columns: [a, b, c], p: 0.05}
shuffle, 1 on 1|shuffle: {columns: [a], on: [b]}
swap|swap: {columns: [a], keys: [sex], attribute: region, rate: 0.5, scope: dataset}
suppress, 3 keys|suppress: {keys: [sex, age, region], k: 3}
synthesise, 1 on 1|synthesise: {columns: [a], on: [b]}
microaggregate, 3 columns|microaggregate: {columns: [a, b, c], k: 3}
EOF
exit $failed
