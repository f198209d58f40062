#!/usr/bin/env bash
# The Python package: builds the wheel as `pip install ./python` does, installs it
# alone into an environment, checks its types and runs its tests and its notebook.
#
#   scripts/test-python.sh [ARGUMENTS of pytest]
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/python
mkdir -p "$cache"
wants=(pyarrow==26.0.1 pyyaml==6.0.3 duckdb==2.0.0 pandas==3.1.1 polars==2.1.0 pytest==9.2.0 mypy==2.4.1
  nbclient==0.11.0 nbformat==5.11.1 ipykernel==7.4.0 types-PyYAML==6.0.12.20261113)
python=$(scripts/venv.sh "$cache/venv" "${wants[@]}")
rm -rf "$cache/wheel"
"$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$cache/wheel" ./python
"$python" -m pip install -q --disable-pip-version-check --no-deps --force-reinstall "$cache"/wheel/*.whl
(cd python && "$python" -m mypy)
cd python
env -u SDLFILTER_BINARY PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -p no:cacheprovider "$@"
