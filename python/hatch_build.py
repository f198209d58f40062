"""Builds the program with Go and puts it into the wheel.

GOARCH (amd64 or arm64) chooses the machine; without it, it is the one that builds.
The program is static, so that one wheel serves every Linux of its architecture.
"""

import os
import pathlib
import subprocess

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


class Program(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable":
            return
        here = pathlib.Path(self.root)
        arch = os.environ.get("GOARCH") or subprocess.check_output(["go", "env", "GOARCH"], text=True).strip()
        if arch not in MACHINES:
            raise RuntimeError(f"GOARCH must be one of {', '.join(MACHINES)}, got {arch}")
        program = here / "build" / arch / "sdlfilter"
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["go", "build", "-trimpath", "-tags=arrow_json_stdlib", "-ldflags=-s -w", "-o", str(program), "./cmd/sdlfilter"],
            cwd=here.parent, check=True,
            env={**os.environ, "CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": arch},
        )
        build_data["pure_python"] = False
        machine = MACHINES[arch]
        build_data["tag"] = f"py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}"
        build_data["force_include"][str(program)] = "sdlfilter/bin/sdlfilter"
