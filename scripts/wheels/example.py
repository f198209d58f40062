"""Runs the first example of the package's README with the installed wheel.

    python - README PIPELINE <example.py
"""
import pathlib
import re
import subprocess
import sys

import pyarrow.parquet as parquet

import sdlfilter

readme, pipeline = (pathlib.Path(name).read_text() for name in sys.argv[1:3])
program = pathlib.Path(sdlfilter.program())
assert program.parent == pathlib.Path(sdlfilter.__file__).parent / "bin", f"the program is {program}"
subprocess.run([program, "keygen", "--out", "key"], check=True)
text = pipeline.replace("examples/cps/cps1988.parquet", "original.parquet").replace("out/demo.key", "key").replace("out/", "")
text = text.replace("parquet: {path: cps1988.parquet, compression: zstd}", "csv: {path: released.csv}")
pathlib.Path("pipeline.yaml").write_text(text)
found = re.search(r"```python\n(import sdlfilter\n.*?)```", readme, re.S)
names = {"df": parquet.read_table("original.parquet")}
exec(found[1], names)  # with what it names: files and a table
assert names["released"].num_rows == names["report"]["records"]["released"] > 28000, names["report"]["records"]
assert names["report"]["gate"]["passed"]
assert pathlib.Path("released.csv").stat().st_size > 500_000
print("the README's example ran with the wheel's own program")
