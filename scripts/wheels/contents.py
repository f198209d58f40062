"""Looks into the wheels of a folder, and takes their programs out.

    contents.py WHEELS PROGRAMS GOOS/GOARCH...
"""
import base64
import hashlib
import pathlib
import struct
import subprocess
import sys
import zipfile

ELF = {"amd64": 62, "arm64": 183}
MACHO = {"amd64": 0x01000007, "arm64": 0x0100000C}
TAGS = {
    "linux/amd64": "manylinux_2_17_x86_64.musllinux_1_1_x86_64", "linux/arm64": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64", "darwin/arm64": "macosx_12_0_arm64",
}


def elf(program, arch):
    assert program[:6] == b"\x7fELF\x02\x01", "no 64-bit ELF"
    assert struct.unpack_from("<H", program, 18)[0] == ELF[arch], "ELF of another machine"
    start, size, count = struct.unpack_from("<Q", program, 32)[0], *struct.unpack_from("<HH", program, 54)
    kinds = [struct.unpack_from("<I", program, start + i * size)[0] for i in range(count)]
    assert 3 not in kinds, "the program is linked dynamically"  # PT_INTERP


def macho(program, arch, tag):
    magic, cpu, _, _, count = struct.unpack_from("<5I", program)
    assert magic == 0xFEEDFACF and cpu == MACHO[arch], "no 64-bit Mach-O of the machine"
    at, least = 32, None
    for _ in range(count):
        command, size = struct.unpack_from("<2I", program, at)
        if command == 0x32:  # LC_BUILD_VERSION
            least = struct.unpack_from("<I", program, at + 12)[0]
        at += size
    assert least is not None, "it does not say which macOS it needs"
    assert tag.startswith(f"macosx_{least >> 16}_{least >> 8 & 255}_"), f"it needs macOS {least >> 16}.{least >> 8 & 255}, and the tag is {tag}"


def look(wheel, platform, to):
    tag = TAGS[platform]
    os_, arch = platform.split("/")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(n for n in names if n.endswith(".dist-info/WHEEL")).rpartition("/")[0]
        said = archive.read(info + "/WHEEL").decode()
        assert "Root-Is-Purelib: false" in said and all(f"Tag: py3-none-{t}" in said for t in tag.split(".")), said
        for line in archive.read(info + "/RECORD").decode().splitlines():
            name, digest, _ = line.rsplit(",", 2)
            if digest:
                found = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
                assert digest == "sha256=" + found, name
        foreign = [n for n in names if not n.startswith((info + "/", "sdlfilter/"))]
        assert not foreign, foreign
        inside = archive.getinfo("sdlfilter/bin/sdlfilter")
        assert inside.external_attr >> 16 & 0o777 == 0o755, oct(inside.external_attr >> 16)
        program = archive.read(inside)
        licences = archive.read("sdlfilter/bin/LICENSES-OF-MODULES.txt").decode()
        assert "Apache License" in archive.read("sdlfilter/bin/LICENSE").decode()
    elf(program, arch) if os_ == "linux" else macho(program, arch, tag)
    path = to / platform.replace("/", "_")
    path.write_bytes(program)
    path.chmod(0o755)
    modules = [line.split("\t")[2:4] for line in subprocess.check_output(["go", "version", "-m", path], text=True).splitlines()
               if line.startswith("\tdep\t")]
    assert len(modules) > 50, modules
    missing = [m for m in modules if f"\n{m[0]} {m[1]}\n" not in licences]
    assert not missing, f"without a licence: {missing}"
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.0f} MB, the licences of {len(modules)} modules")


def main():
    wheels, to = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    to.mkdir()
    for platform in sys.argv[3:]:
        (wheel,) = wheels.glob(f"*-py3-none-{TAGS[platform]}.whl")
        look(wheel, platform, to)


if __name__ == "__main__":
    main()
