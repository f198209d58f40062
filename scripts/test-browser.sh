#!/usr/bin/env bash
# Opens the report's and the map's pages in Chromium: no error on the console, no request to
# anywhere, no horizontal scrolling down to 360 px, text that contrasts enough in
# light and dark, and every number equal to the JSON's. Then the live page of a
# stream: the same, and that it follows what happens and finds back by itself.
#
#   scripts/test-browser.sh             example reports and a stream made for the purpose
#   scripts/test-browser.sh PAGE JSON   a page of a run or of a map, and its JSON
#
# SCREENSHOTS=DIR keeps pictures of the pages.
set -euo pipefail
cd "$(dirname "$0")/.."

find_browser() {
  local name
  for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then command -v "$name"; return; fi
  done
}
browser=$(find_browser)
if [[ -z $browser && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  echo "installing chromium"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
  browser=$(find_browser)
fi
if [[ -z $browser ]]; then
  echo "test-browser: needs chromium: apt-get install chromium" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/comparepage" ./assess/report/internal/comparepage
declare -A json
if [[ $# == 2 ]]; then
  json[$(realpath "$1")]=$(realpath "$2")
else
  go run ./assess/report/internal/sample "$work/pages" >/dev/null
  for name in released withheld hostile; do
    json["$work/pages/$name.html"]="$work/pages/$name.json"
    json["$work/pages/$name.public.html"]="$work/pages/$name.public.json"
    json["$work/pages/$name.board.html"]="$work/pages/$name.json"
  done
  for name in crowded.board attack measured; do
    json["$work/pages/$name.html"]="$work/pages/${name%.board}.json"
  done
  (cd verify && go run ./mapexample "$work/pages")
  go build -o "$work/sdlfilter" ./cmd/sdlfilter
  cp -r examples "$work"
  (cd "$work" && ./sdlfilter keygen --out out/release.key && ./sdlfilter run --quiet examples/project/project.yaml) 2>/dev/null
  for name in report report.public; do
    json["$work/out/project/$name.html"]="$work/out/project/$name.json"
  done
  for name in noise strategies groups none hostile; do
    json["$work/pages/map-$name.html"]="$work/pages/map-$name.json"
  done
fi

failed=0
fail() { echo "  FAIL $*"; failed=1; }

# The page itself runs no script. For measuring, a copy gets one; the page's
# content security policy, which would stop it, is checked on the page itself.
probe="<script>$(<verify/browsertest/probe.js)
const found = probe();
const data = document.documentElement.dataset;
data.overflow = found.overflow;
data.contrast = found.contrast.toFixed(2);
data.where = found.where;
</script>"

# open PAGE WIDTH SCHEME: the DOM goes to $work/dom, the log to $work/log. Scheme
# 0 is dark and 1 is light. Every name resolves to nothing, and requests are logged.
open_page() {
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --disable-extensions \
    --user-data-dir="$work/profile" --host-resolver-rules="MAP * ~NOTFOUND" --enable-logging=stderr \
    --log-net-log="$work/net.json" --window-size="$2",2000 --blink-settings=preferredColorScheme="$3" \
    --dump-dom "file://$1" >"$work/dom" 2>"$work/log"
}

# datum NAME: a figure that the probe left in the DOM.
datum() { sed -n "s/.*data-$1=\"\([^\"]*\)\".*/\1/p;T;q" "$work/dom"; }

# page_requests: what the page asked of a network, from the log of requests. The
# browser's own errands have no origin.
page_requests() {
  grep -a '"initiator":' "$work/net.json" | grep -av '"initiator":"not an origin"' |
    grep -aoE '"url":"(https?|wss?|ftp)://[^"]*"' | sort -u || true
}

# A check that cannot fail proves nothing: this page does ask.
echo '<!DOCTYPE html><h1>asks</h1><img src="https://elsewhere.invalid/x.png" alt="">' >"$work/asks.html"
open_page "$work/asks.html" 800 1
[[ $(page_requests) == *elsewhere.invalid* ]] || fail "a request of a page is not seen in the browser's log"

for page in "${!json[@]}"; do
  name=$(basename "$page")
  echo "$name"
  open_page "$page" 1280 1
  if grep -q 'CONSOLE' "$work/log"; then fail "console: $(grep -m3 CONSOLE "$work/log")"; fi
  grep -q '<h1>' "$work/dom" || fail "the page did not open"
  requests=$(page_requests)
  [[ -z $requests ]] || fail "requests: $requests"
  "$work/comparepage" "$work/dom" "${json[$page]}" | sed 's/^/  /' || fail "numbers"

  measured="$work/measured.html"
  sed -e 's/<meta http-equiv="Content-Security-Policy"[^>]*>//' "$page" >"$measured"
  printf '%s' "$probe" >>"$measured"
  for view in "1280 1" "1280 0" "768 1" "360 1"; do
    read -r width scheme <<<"$view"
    open_page "$measured" "$width" "$scheme"
    overflow=$(datum overflow) contrast=$(datum contrast)
    [[ $overflow == 0 ]] || fail "$width px wide: scrolls sideways by ${overflow:-?} px"
    # WCAG 2 AA asks 4.5 of text of ordinary size.
    awk -v c="${contrast:-0}" 'BEGIN { exit !(c >= 4.5) }' || fail "$width px, scheme $scheme: contrast $contrast at $(datum where)"
  done
  if [[ -n ${SCREENSHOTS:-} ]]; then
    mkdir -p "$SCREENSHOTS"
    for width in 1280 360; do
      for scheme in 1 0; do
        "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking \
          --user-data-dir="$work/profile" --window-size="$width",4000 --blink-settings=preferredColorScheme="$scheme" \
          --screenshot="$SCREENSHOTS/${name%.html}-$width-$([[ $scheme == 0 ]] && echo dark || echo light).png" "file://$page" 2>/dev/null
      done
    done
  fi
done

if [[ $# != 2 ]]; then
  (cd verify/browsertest && go build -o "$work/live" .)
  echo "pages for the release board, printed"
  "$work/live" ${SCREENSHOTS:+-screenshots "$SCREENSHOTS"} -boards "$work/pages" "$browser" || failed=1
  echo "the live page"
  "$work/live" ${SCREENSHOTS:+-screenshots "$SCREENSHOTS"} "$browser" || failed=1
fi
[[ $failed == 0 ]] && echo "pages are as they should be"
exit "$failed"
