#!/bin/sh
# Compiles a program and says how far it is: the first time takes a minute or two, and
# nothing else would be seen of it. With nothing to compile it says nothing.
#
#   scripts/build.sh OUTPUT PACKAGE
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
terminal=0
[ -t 2 ] && terminal=1
total=$($go list -deps "$2" 2>/dev/null | wc -l)
# Everything but the names of compiled packages is what the compiler has to say.
{ $go build -v -o "$1" "$2" 2>&1 && echo "status 0" || echo "status $?"; } | awk -v total="$total" -v terminal="$terminal" -v what="$1" '
  function say(end) { printf "compiling %s: %d of at most %d packages%s", what, n, total, end >"/dev/stderr" }
  /^status [0-9]+$/ { status = $2; next }
  /^[A-Za-z0-9._\/~@-]+$/ {
    n++
    if (n == 1 && !terminal) printf "compiling %s (the first time takes a minute or two)\n", what >"/dev/stderr"
    if (terminal) say("   \r"); else if (n % 100 == 0) say("\n")
    next
  }
  { print >"/dev/stderr" }
  END {
    if (n && status == 0) { printf "compiled %s: %d packages                    \n", what, n >"/dev/stderr" }
    exit status
  }'
