"""Builds the program with Go and puts it into the wheel, with the licences of what is linked into it.

GOOS (linux or darwin) and GOARCH (amd64 or arm64) choose the machine; without them, it is the
one that builds. The program is static: one wheel serves every Linux of its architecture.
SDLFILTER_RELEASE is the version that the program calls itself.
"""

import os
import pathlib
import shutil
import subprocess

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The macOS is the oldest one that Go's programs run on.
TAGS = {
    ("linux", "amd64"): "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    ("linux", "arm64"): "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    ("darwin", "amd64"): "macosx_12_0_x86_64",
    ("darwin", "arm64"): "macosx_12_0_arm64",
}
PACKAGE = "./cmd/sdlfilter"
FLAGS = ["-trimpath", "-tags=arrow_json_stdlib"]
LICENCES = ("LICENSE", "UNLICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "PATENTS")


class Program(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable":
            return
        here = pathlib.Path(self.root)
        source = here.parent
        machine = tuple(os.environ.get(name) or go(source, {}, "env", name) for name in ("GOOS", "GOARCH"))
        if machine not in TAGS:
            raise RuntimeError(f"GOOS/GOARCH must be one of {', '.join(map('/'.join, TAGS))}, got {'/'.join(machine)}")
        environment = {"CGO_ENABLED": "0", "GOOS": machine[0], "GOARCH": machine[1]}
        program = here / "build" / "_".join(machine) / "sdlfilter"
        program.parent.mkdir(parents=True, exist_ok=True)
        release = os.environ.get("SDLFILTER_RELEASE")
        link = "-s -w" + (f" -X main.release={release}" if release else "")
        go(source, environment, "build", *FLAGS, f"-ldflags={link}", "-o", str(program), PACKAGE)
        shutil.copyfile(source / "LICENSE", program.parent / "LICENSE")
        licences(source, environment, program.parent / "LICENSES-OF-MODULES.txt")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{TAGS[machine]}"
        for name in ("sdlfilter", "LICENSE", "LICENSES-OF-MODULES.txt"):
            build_data["force_include"][str(program.parent / name)] = f"sdlfilter/bin/{name}"


def licences(source, environment, to):
    """Writes the licences of what is linked into the program. A module without one ends the build."""
    texts = {}
    of_go = pathlib.Path(go(source, environment, "env", "GOROOT")) / "LICENSE"
    if of_go.exists():  # a distribution may have it elsewhere
        texts["Go " + go(source, environment, "env", "GOVERSION")] = [of_go]
    packages = go(source, environment, "list", "-deps", *FLAGS,
                  "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", PACKAGE)
    for line in sorted(set(packages.splitlines()) - {""}):
        module, root, folder = line.split("\t")
        texts.setdefault(module, []).extend(above(pathlib.Path(root), pathlib.Path(folder)))
    texts["ReadStat, zlib, wasi-libc, iconv: internal/readstat"] = [source / "internal/readstat/wasm/LICENSES.txt"]
    with open(to, "w", encoding="utf-8") as out:
        out.write("What is linked into the program sdlfilter, and its licences.\n")
        for module, files in texts.items():
            if not files:
                raise RuntimeError(f"{module}: no licence was found")
            out.write(f"\n{'=' * 80}\n{module}\n")
            for file in sorted(set(files)):
                text = file.read_text(encoding="utf-8", errors="replace")
                out.write(f"{'-' * 80}\n{file.name}\n\n{text.strip()}\n")


def above(root, folder):
    """The licences in a package's folder and those above it, up to its module's."""
    for level in (folder, *folder.parents):
        yield from (f for f in level.iterdir() if f.is_file() and f.suffix != ".go" and f.name.upper().startswith(LICENCES))
        if level == root:
            return


def go(source, environment, *arguments):
    """What a command of Go prints; what it complains of goes where the builder's output goes."""
    return subprocess.run(["go", *arguments], cwd=source, check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, **environment}).stdout.strip()
