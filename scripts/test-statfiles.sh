#!/usr/bin/env bash
# Files of statistical packages (SPSS, Stata, SAS): releases of about 35 files of other packages and of files that pyreadstat
# writes, with all that they can say, read back by pyreadstat and compared to the last bit, and then by haven. The packages come
# from their registries, and nothing of them is kept in the project. Without R, and where it cannot be installed, haven is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/statfiles
mkdir -p "$cache/files"
python=$(scripts/venv.sh "$cache/venv" pyreadstat==1.3.7 pandas==3.1.1 openpyxl==3.1.5)
if [[ ! -e $cache/files/complete ]]; then
  (
    cd "$cache/files"
    "$python" -m pip download -q --disable-pip-version-check --no-deps --no-binary savReaderWriter savReaderWriter==3.4.2 statsmodels==0.15.0
    "$python" -m pip download -q --disable-pip-version-check --no-deps --no-binary sas-to-polars sas-to-polars==1.0.0
    apt-get update -q >/dev/null
    apt-get download -q pspp r-cran-foreign r-cran-haven >/dev/null
    for f in *.tar.gz; do tar -xzf "$f"; done
    for f in *.whl; do "$python" -m zipfile -e "$f" wheel; done
    for f in *.deb; do dpkg -x "$f" deb; done
    touch complete
  )
fi
go build -trimpath -o "$cache/sdlfilter" ./cmd/sdlfilter
"$python" verify/interop/statfiles.py --keep "$cache/kept" "$cache/sdlfilter" "$cache/files"
haven() { Rscript -e 'library(haven)' >/dev/null 2>&1; }
if ! haven && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  apt-get update -q >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends r-base-core r-cran-haven >/dev/null
fi
if haven; then
  Rscript verify/interop/statfiles.R "$cache/kept"
else
  echo "haven: not installed, left out (apt-get install r-base-core r-cran-haven)"
fi
