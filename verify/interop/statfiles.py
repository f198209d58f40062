"""Releases of files of statistical packages, against pyreadstat: every file that is found below the given folders, and files
that pyreadstat writes, are released without a mask and read back.

    statfiles.py [--keep FOLDER] SDLFILTER FOLDER ...

--keep leaves the releases in the format of their source in a new folder, with a list of them (pairs.csv), for statfiles.R.
"""

import csv
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import openpyxl
import pandas
import pyreadstat

READERS = {".sav": pyreadstat.read_sav, ".zsav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".sas7bdat": pyreadstat.read_sas7bdat, ".xpt": pyreadstat.read_xport}
FORMATS = {".sav": "spss", ".zsav": "spss", ".dta": "stata", ".sas7bdat": "sas", ".xpt": "sas"}


def read(path, **more):
    ext = os.path.splitext(path)[1].lower()
    options = dict(disable_datetime_conversion=True, **more)
    if ext != ".xpt":
        options["user_missing"] = True
    return READERS[ext](path, **options)


def bits(x):
    return struct.pack("<d", x)


def same(a, b):
    """Whether two values are alike: numbers by their bits, a missing text like an empty one."""
    if a is None or isinstance(a, float) and math.isnan(a):
        a = ""
    if b is None or isinstance(b, float) and math.isnan(b):
        b = ""
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return bits(float(a)) == bits(float(b))


class Case:
    def __init__(self, program, path, work):
        self.program, self.path, self.work = program, path, work
        self.faults = []
        self.released = None

    def expect(self, ok, what):
        if not ok:
            self.faults.append(what)

    def release(self, sink, to, columns):
        config = os.path.join(self.work, "p.yaml")
        source = FORMATS[os.path.splitext(self.path)[1].lower()]
        labels = "" if sink == "csv" else ", labels: [values, variables]" if sink == "xlsx" else ", labels: [values, variables, cut]"
        with open(config, "w") as f:
            f.write("version: 1\nname: p\nkey: {file: release.key}\nsource: {%s: {path: %s}}\ncolumns:\n" % (source, quoted(self.path)))
            for c in columns:
                f.write("  %s: {role: other}\n" % quoted(c))
            f.write("sink: {%s: {path: %s%s}}\n" % (sink, quoted(to), labels))
        out = subprocess.run([self.program, "run", config], cwd=self.work, capture_output=True, text=True)
        self.expect(out.returncode == 0, "release to %s: %s" % (sink, out.stderr[-600:]))
        return out.returncode == 0

    def run(self):
        try:
            before, meta = read(self.path)
        except pyreadstat.ReadstatError as e:
            return "pyreadstat cannot read it: %s" % e
        ext = os.path.splitext(self.path)[1].lower()
        columns = list(before.columns)
        own = {".sav": ".sav", ".zsav": ".zsav"}.get(ext, ".dta")
        to = os.path.join(self.work, "out" + own)
        if self.release("spss" if own != ".dta" else "stata", to, columns):
            self.compare(before, meta, *read(to), ext, own)
            self.released = to
        to = os.path.join(self.work, "out.csv")
        if self.release("csv", to, columns):
            with open(to, newline="") as f:
                rows = list(csv.reader(f))
            self.expect(rows[0] == columns and len(rows) - 1 == len(before), "csv: %d records of %d" % (len(rows) - 1, len(before)))
        to = os.path.join(self.work, "out.xlsx")
        if self.release("xlsx", to, columns):
            sheet = openpyxl.load_workbook(to, read_only=True).worksheets[0]
            rows = list(sheet.iter_rows(values_only=True))
            self.expect(list(rows[0]) == columns and len(rows) - 1 == len(before), "xlsx: %d records of %d" % (len(rows) - 1, len(before)))
            for i, c in enumerate(columns):
                if meta.readstat_variable_types[c] == "double" and not dated(meta.original_variable_types[c]):
                    for row, x in zip(rows[1:], before[c]):
                        if isinstance(x, float) and not same(x, row[i]):
                            self.expect(False, "xlsx, column %s: a number differs" % c)
                            break

    def compare(self, before, meta, after, released, ext, own):
        self.expect(list(after.columns) == list(before.columns), "columns %s" % list(after.columns))
        self.expect(len(after) == len(before), "%d records, want %d" % (len(after), len(before)))
        self.expect(not released.file_label and not released.notes, "file label or notes are released")
        same_program = FORMATS[ext] == FORMATS[own]
        for c in before.columns:
            if c not in after.columns:
                continue
            timed = not same_program and dated(meta.original_variable_types[c])
            if not timed:
                wrong = [i for i, (x, y) in enumerate(zip(before[c], after[c])) if not same(x, y) and not (not same_program and same(upper(x), upper(y)))]
                self.expect(not wrong, "column %s: %d values differ, first in record %s" % (c, len(wrong), wrong[:1]))
            got, want = (m.column_names_to_labels.get(c) or "" for m in (released, meta))
            self.expect(got == want or len(want.encode()) > 255 and len(got) > 200 and want.startswith(got), "column %s: its label" % c)
            occurring = set(x for x in before[c] if x is not None and x == x)
            want = {k: v for k, v in meta.variable_value_labels.get(c, {}).items() if k in occurring}
            got = {k: v for k, v in released.variable_value_labels.get(c, {}).items()}
            if same_program:
                self.expect(got == want, "column %s: %d labels of values, want %d" % (c, len(got), len(want)))
                if FORMATS[own] == "spss":
                    self.expect(released.variable_measure[c] == meta.variable_measure[c], "column %s: measure" % c)
                    self.expect(released.variable_display_width[c] == meta.variable_display_width[c], "column %s: display width" % c)
                    ranges = [r for r in meta.missing_ranges.get(c, []) if any(holds(r, x) for x in occurring)]
                    self.expect(released.missing_ranges.get(c, []) == ranges, "column %s: missing ranges %s, want %s" % (c, released.missing_ranges.get(c, []), ranges))
                text = meta.readstat_variable_types[c] == "string"
                if not text:
                    self.expect(released.original_variable_types[c] == meta.original_variable_types[c], "column %s: format %s, want %s" % (c, released.original_variable_types[c], meta.original_variable_types[c]))
                self.expect(released.readstat_variable_types[c] == meta.readstat_variable_types[c], "column %s: type %s, want %s" % (c, released.readstat_variable_types[c], meta.readstat_variable_types[c]))


def upper(x):
    return x.upper() if isinstance(x, str) else x


def holds(r, x):
    if isinstance(x, str) or isinstance(r["lo"], str):
        return x == r["lo"]
    return r["lo"] <= x <= r["hi"]


def dated(form):
    if not form:
        return False
    name = form.strip("%-").upper().rstrip("0123456789.")
    return form.startswith(("%t", "%d", "%-t")) or any(name.startswith(w) for w in ("DATE", "ADATE", "EDATE", "SDATE", "JDATE", "QYR", "MOYR", "WKYR", "YMDHMS", "MMDDYY", "DDMMYY", "YYMMDD", "E8601", "MONYY", "DTDATE"))


def quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def made(folder):
    """Files that pyreadstat writes, with everything that a file can say."""
    frame = pandas.DataFrame({"id": range(1, 301), "q": [[1.0, 2.0, 9.0, -1.0, None][i % 5] for i in range(300)], "x": [i / 7 for i in range(300)],
                              "t": [["", "a", "Zürich", "long " * 60][i % 4] for i in range(300)], "w": [1 + i % 3 / 2 for i in range(300)]})
    labels = {"q": {1.0: "yes", 2.0: "no", 9.0: "no answer", 7.0: "never chosen"}, "t": {"a": "the first", "zz": "never there"}}
    names = {"q": "Question – with a dash", "x": "A quotient"}
    out = []
    for ext in (".sav", ".zsav"):
        pyreadstat.write_sav(frame, os.path.join(folder, "made" + ext), file_label="canary", note="canary", column_labels=names, variable_value_labels=labels,
                             missing_ranges={"q": [9, {"lo": -5, "hi": -1}]}, variable_measure={"q": "ordinal", "x": "scale", "t": "nominal"},
                             variable_display_width={"x": 14}, compress=ext == ".zsav", variable_format={"x": "F12.5"})
        out.append(os.path.join(folder, "made" + ext))
    tagged = frame.copy()
    tagged["q"] = [[1, 2, "a", "z", 5][i % 5] for i in range(300)]  # not None too: pyreadstat 1.3.7 reads it as any number
    for version in (13, 14, 15):
        path = os.path.join(folder, "made%d.dta" % version)
        pyreadstat.write_dta(tagged, path, version=version, file_label="canary", column_labels=names, missing_user_values={"q": ["a", "z"]},
                             variable_value_labels={"q": {1: "yes", 2: "no", 7: "never chosen", 5: "five", "a": "refused"}})
        out.append(path)
    for version in (5, 8):
        path = os.path.join(folder, "made%d.xpt" % version)
        pyreadstat.write_xport(frame.assign(t=frame.t.str[:180]), path, file_format_version=version, file_label="canary")
        out.append(path)
    return out


class Kept:
    """The releases that are kept, with their sources."""

    def __init__(self, folder):
        self.folder, self.rows = folder, []
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)

    def add(self, source, released):
        if not self.folder or not released:
            return
        ends = [os.path.splitext(p)[1].lower() for p in (source, released)]
        copies = [os.path.join(self.folder, "%d%s%s" % (len(self.rows), part, ext)) for part, ext in zip(("in", "out"), ends)]
        shutil.copy(source, copies[0])
        shutil.copy(released, copies[1])
        self.rows.append([os.path.basename(source)] + copies)

    def done(self):
        if self.folder:
            with open(os.path.join(self.folder, "pairs.csv"), "w", newline="") as f:
                csv.writer(f).writerows([["name", "source", "release"]] + self.rows)


def main():
    arguments = sys.argv[1:]
    folder = None
    if arguments[0] == "--keep":
        folder, arguments = os.path.abspath(arguments[1]), arguments[2:]
    kept = Kept(folder)
    program, folders = os.path.abspath(arguments[0]), arguments[1:]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([program, "keygen", "--out", "release.key"], cwd=work, check=True, capture_output=True)
        paths = made(work)
        for folder in folders:
            for at, _, names in os.walk(folder):
                paths += [os.path.abspath(os.path.join(at, n)) for n in sorted(names) if os.path.splitext(n)[1].lower() in READERS]
        for path in paths:
            case = Case(program, path, work)
            skipped = None
            try:
                skipped = case.run()
            except Exception as e:  # a file that the peer cannot read is said
                case.faults.append("%s: %s" % (type(e).__name__, e))
            kept.add(path, case.released)
            name = os.path.basename(path)
            if skipped:
                print("--   %s: %s" % (name, skipped))
                continue
            if case.faults:
                failed += 1
                print("FAIL %s" % name)
                for f in case.faults[:8]:
                    print("     " + f)
            else:
                passed += 1
                print("ok   %s" % name)
    kept.done()
    print("statfiles: %d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


sys.exit(main())
