"""Writes the bill of materials of a Go program in CycloneDX 1.6, from `go version -m -json` on standard input.

    go version -m -json PROGRAM | python3 scripts/sbom.py VERSION
"""
import base64
import json
import sys


def component(kind, module):
    """A module as a component; its hash is that of go.sum."""
    out = {
        "type": kind,
        "name": module["Path"],
        "version": module.get("Version", ""),
        "purl": f"pkg:golang/{module['Path']}@{module.get('Version', '')}",
    }
    if module.get("Sum", "").startswith("h1:"):
        digest = base64.b64decode(module["Sum"][3:]).hex()
        out["properties"] = [{"name": "go:sum:h1", "value": digest}]
    return out


def main():
    info = json.load(sys.stdin)
    program = component("application", {**info["Main"], "Version": sys.argv[1], "Sum": ""})
    used = [m.get("Replace") or m for m in info.get("Deps") or []]
    standard = {"Path": "std", "Version": info["GoVersion"].removeprefix("go")}
    json.dump({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": program},
        "components": [component("library", m) for m in [standard, *used]],
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
