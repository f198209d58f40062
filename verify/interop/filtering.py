"""Runs the program as a user does: a configuration, a process, files."""

import base64
import json
import pathlib
import subprocess

from tables import MASKED, NOISE, WITHHELD


class Failed(Exception):
    """The program or a check of its release failed."""


class Program:
    """The binary, and a folder in which each case has a folder of its own."""

    def __init__(self, binary, work):
        self.binary, self.work = pathlib.Path(binary).resolve(), pathlib.Path(work)
        self.key = self.work / "release.key"
        self.key.write_text(base64.b64encode(b"0123456789abcdef0123456789abcdeF").decode())
        self.key.chmod(0o600)

    def folder(self, case):
        path = self.work / "".join(c if c.isalnum() or c in "-_" else "_" for c in case)
        path.mkdir(parents=True)
        return path

    def run(self, folder, columns, source, sink, noise=None, identity=None, stdin=None, status=0):
        """Releases source into sink: what is withheld is dropped, what is masked
        gets noise, unless noise says which columns get it. Returns standard output;
        an exit status other than the expected is an error."""
        noise = {c: NOISE[c] for c in columns if c.startswith(MASKED)} if noise is None else noise
        text = ["version: 1", "name: interop", f"key: {{file: {self.key}}}"]
        if identity:
            text.append(f"identity: {json.dumps(identity)}")
        text += [f"source: {json.dumps(source, default=str)}", f"sink: {json.dumps(sink, default=str)}", "columns:"]
        for c in columns:
            role = "identifier" if c.startswith(WITHHELD) else "sensitive" if c in noise else "other"
            decimals = f", decimals: {noise[c][1]}" if c in noise else ""
            text.append(f"  {json.dumps(c)}: {{role: {role}{decimals}}}")
        if noise:
            text.append("masks:")
            text += [f"  - noise: {{columns: [{json.dumps(c)}], sd: {sd}}}" for c, (sd, _) in noise.items()]
        # That columns follow from one another here is not what is tested.
        text.append("assess: {replicates: 0, sample: 20, intruder: {inversion: false}}")
        if status == 3:
            text.append(f"quarantine: {{jsonl: {folder / 'quarantine.jsonl'}}}")
            text.append("gate: {max_quarantined: 100%}")
        text.append(f"report: {{json: {folder / 'report.json'}}}")
        config = folder / "pipeline.yaml"
        config.write_text("\n".join(text) + "\n")
        done = subprocess.run([self.binary, "run", "--quiet", config], input=stdin, capture_output=True, timeout=60)
        if done.returncode != status:
            raise Failed(f"exit {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout
