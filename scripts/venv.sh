#!/usr/bin/env bash
# A Python environment with just these packages of these versions: makes it, or what is
# missing of it, and prints its interpreter.
#
#   scripts/venv.sh FOLDER PACKAGE==VERSION ...
set -euo pipefail
folder=$1
shift
python=$folder/bin/python
if ! "$python" -m pip --version >/dev/null 2>&1; then
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  {
    python3 -m venv "$folder" || { # Debian's Python comes without
      apt-get update -q && apt-get install -qy python3-venv
      python3 -m venv "$folder"
    }
  } >&2
fi
wanted="$*"
if [[ $(cat "$folder/wanted" 2>/dev/null) != "$wanted" ]]; then
  "$python" -m pip install -q --disable-pip-version-check "$@" >&2
  echo "$wanted" >"$folder/wanted"
fi
echo "$python"
