import os
import pathlib
import signal
import subprocess
import threading
import time

import pandas
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

import sdlfilter

REMOVE_IDENTITY = "identity: [id]\n"


def children():
    out = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "comm="], capture_output=True, text=True).stdout.split()
    return [name for name in out if name == "sdlfilter"]


def test_tables_of_all_kinds_are_masked_as_the_file_is(configuration, table):
    import duckdb

    report = sdlfilter.mask_file(configuration)
    assert report.passed and report["records"] == {"read": 20000, "released": 20000, "quarantined": 0, "max_quarantined": 0.01}
    assert report.files[0] == "released.parquet"
    assert oct(os.stat("released.parquet").st_mode)[-3:] != "000"
    file = pq.read_table("released.parquet")
    assert file.column_names == ["wage", "age", "region"]
    assert file["wage"] != table["wage"]

    kinds = {
        "Table": table,
        "chunks": pa.concat_tables([table.slice(0, 7), table.slice(7)]),
        "pandas": table.to_pandas(),
        "polars": polars.from_arrow(table),
    }
    for name, data in kinds.items():
        released, report = sdlfilter.mask(data, configuration)
        expected = {"pandas": pandas.DataFrame, "polars": polars.DataFrame}.get(name, pa.Table)
        assert isinstance(released, expected), name
        wage = list(released["wage"]) if name in ("pandas", "polars") else released["wage"].to_pylist()
        assert wage == file["wage"].to_pylist(), name
        assert report["columns"]["wage"]["risk"][1]["R"] > 0

    absolute = {"masks.0.noise.sd": 90}
    want = sdlfilter.mask(table, configuration, set=absolute, allow_loosening=True)[0]
    for once in (table.to_reader(max_chunksize=1000), duckdb.sql('select * from "table"')):
        released, _ = sdlfilter.mask(once, configuration, set=absolute, allow_loosening=True)
        assert released["wage"].equals(want["wage"])


def test_without_identity_a_table_has_the_places_of_its_records(configuration, table):
    text = pathlib.Path(configuration).read_text().replace(REMOVE_IDENTITY, "")
    pathlib.Path(configuration).write_text(text)
    sdlfilter.mask_file(configuration)
    released, _ = sdlfilter.mask(table, configuration)
    assert released["wage"].equals(pq.read_table("released.parquet")["wage"])


def test_a_dict_is_a_configuration(configuration, table):
    content = yaml.safe_load(pathlib.Path(configuration).read_text())
    released, _ = sdlfilter.mask(table, content)
    assert released.equals(sdlfilter.mask(table, configuration)[0])
    assert sdlfilter.mask_file(content).passed


@pytest.mark.parametrize("change, place, words", [
    (("20%", "-3"), "pipeline.yaml:16:34", "at least 0"),
    (("role: key}\n  region", "role: quay}\n  region"), "pipeline.yaml:13:15", "quay"),
    (("[wage], sd", "[wagge], sd"), "pipeline.yaml:16", "wage"),
])
def test_errors_have_the_place_in_the_callers_file(configuration, table, change, place, words):
    path = pathlib.Path(configuration)
    path.write_text(path.read_text().replace(*change))
    for act in (lambda: sdlfilter.mask(table, configuration), lambda: sdlfilter.mask_file(configuration)):
        with pytest.raises(sdlfilter.ConfigurationError) as caught:
            act()
        assert place in str(caught.value) and words in str(caught.value)
        assert "canary" not in str(caught.value)


def test_the_last_section_and_a_missing_one(configuration, table):
    path = pathlib.Path(configuration)
    text = path.read_text()
    sink = 'sink:\n  parquet: {path: released.parquet}\n'
    want = sdlfilter.mask(table, configuration)[0]
    path.write_text(text.replace(sink, "") + sink)
    assert sdlfilter.mask(table, configuration)[0].equals(want)
    path.write_text(text.replace(sink, ""))
    assert sdlfilter.mask(table, configuration)[0].equals(want)
    path.write_text(text.replace(sink, "sink:\n  parquet: {path: released.parquet}\n  order: shuffled\n"))
    shuffled = sdlfilter.mask(table, configuration)[0]
    assert not shuffled.equals(want) and sorted(shuffled["wage"].to_pylist()) == sorted(want["wage"].to_pylist())


def test_a_refused_release_is_nowhere(configuration, table):
    strict = {"gate.rules.0.min_efficiency": 0.9999}
    for act in (lambda: sdlfilter.mask(table, configuration, set=strict), lambda: sdlfilter.mask_file(configuration, set=strict)):
        with pytest.raises(sdlfilter.Withheld) as caught:
            act()
        report = caught.value.report
        assert not report.passed and report.broken == ["wage: efficiency at least 0.9999"]
        assert "efficiency at least" in report._repr_html_() and report.public_html is None
    assert not os.path.exists("released.parquet")


def test_loosening_is_refused(configuration, table):
    with pytest.raises(sdlfilter.ConfigurationError, match="may let out"):
        sdlfilter.mask(table, configuration, set={"masks.0.noise.sd": 1})


def test_quarantine_is_a_warning(configuration, table):
    wage = table["wage"].to_pylist()
    wage[11] = float("nan")
    table = table.set_column(2, "wage", pa.array(wage))
    path = pathlib.Path(configuration)
    path.write_text(path.read_text() + "quarantine: {jsonl: quarantine.jsonl}\n")
    with pytest.warns(sdlfilter.QuarantineWarning, match="^1 records"):
        released, report = sdlfilter.mask(table, configuration)
    assert released.num_rows == 19999 and report["records"]["quarantined"] == 1


def test_a_notebook_shows_the_public_report(configuration, table):
    _, report = sdlfilter.mask(table, configuration)
    assert "<iframe" in report._repr_html_() and report.public_html != report.confidential_html
    assert str(report["columns"]["wage"]["original"]["max"]) not in report._repr_html_()
    m = sdlfilter.map(configuration)
    assert m.recommended["admissible"] and "<svg" in m.svg and "iframe" in m._repr_html_()
    assert m["schema"] == "sdlfilter.map/1"


def test_assess_and_attack_take_paths_and_tables(configuration, table):
    released, report = sdlfilter.mask(table, configuration)
    pyarrow.csv.write_csv(released, "released.csv")
    both = [sdlfilter.assess(table, released, columns=["wage"]), sdlfilter.assess("original.parquet", "released.csv", columns=["wage"])]
    for found in both:
        assert found["columns"]["wage"]["utility"]["realised_U"] == pytest.approx(report["columns"]["wage"]["utility"]["realised_U"])
    linked = sdlfilter.attack(original=table, released=released, keys=["wage", "age"], targets=200)
    assert linked["schema"] == "sdlfilter.attack/1" and linked["linkage"]["correct_share"] > 0
    judged = sdlfilter.attack(original=table, released=table, control=released, attempts=50, seed=2,
                              aux=[["age"], ["wage"]], models=["wage ~ age", "log(wage) ~ region"])
    assert judged["referee"]["linkability"]["attack"]["attempts"] == 50 and len(judged["models"]) == 2
    counted = sdlfilter.attack(original=table.to_pandas(), categorical=["age", "region"])
    assert counted["uniqueness"]["min_k"] >= 1
    path = pathlib.Path(configuration)
    path.write_text(path.read_text() + "assess: {keys: [wage, age]}\n")
    assert sdlfilter.attack(configuration)["keys"] == ["wage", "age"]
    with pytest.raises(sdlfilter.ConfigurationError, match="give a configuration"):
        sdlfilter.attack()
    with pytest.raises(sdlfilter.ConfigurationError, match="is not in the original file"):
        sdlfilter.attack(original=table, categorical=["regoin"])


def test_nothing_stays_behind(configuration, table):
    """Whatever ends a call: no process, no file, no descriptor."""
    before = set(os.listdir("/proc/self/fd"))
    folders = {f for f in os.listdir(os.environ.get("TMPDIR", "/tmp")) if f.startswith("sdlfilter")}

    def failing():
        yield from table.to_batches(max_chunksize=1000)[:3]
        raise KeyError("from the caller's reader")

    absolute = {"masks.0.noise.sd": 90}
    with pytest.raises(KeyError, match="the caller's reader"):
        sdlfilter.mask(pa.RecordBatchReader.from_batches(table.schema, failing()), configuration, set=absolute, allow_loosening=True)

    def slow():
        for batch in table.to_batches(max_chunksize=1000):
            yield batch
            if not interrupting.is_set():  # Ctrl-C while the program waits for more
                interrupting.set()
                os.kill(os.getpid(), signal.SIGINT)
            released.wait(60)

    interrupting, released = threading.Event(), threading.Event()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sdlfilter.mask(pa.RecordBatchReader.from_batches(table.schema, slow()), configuration, set=absolute, allow_loosening=True)
    assert time.monotonic() - begun < 50
    released.set()
    assert children() == []
    assert len(set(os.listdir("/proc/self/fd")) - before) <= 2
    assert {f for f in os.listdir(os.environ.get("TMPDIR", "/tmp")) if f.startswith("sdlfilter")} <= folders


@pytest.mark.parametrize("step", range(4))
def test_a_start_that_is_interrupted_leaves_nothing(configuration, table, monkeypatch, step):
    """Ctrl-C before and after the start of each thread beside the program."""
    from sdlfilter import _program

    steps = iter(range(100))

    class Interrupted(threading.Thread):
        def start(self):
            if next(steps) == step:
                raise KeyboardInterrupt
            super().start()
            if next(steps) == step:
                raise KeyboardInterrupt

    reader = table.to_reader(max_chunksize=1000)
    monkeypatch.setattr(_program.threading, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        sdlfilter.mask(reader, configuration, set={"masks.0.noise.sd": 90}, allow_loosening=True)
    assert children() == []


def test_progress(configuration, table):
    lines = []
    sdlfilter.mask(table, configuration, progress=lines.append)
    assert lines and lines[-1]["records"] == 20000 and lines[-1]["share"] == 1

    def broken(line):
        raise ValueError

    assert sdlfilter.mask(table, configuration, progress=broken)[1].passed


def test_what_is_no_table(configuration):
    with pytest.raises(sdlfilter.ConfigurationError, match="is no table"):
        sdlfilter.mask([1, 2], configuration)
    with pytest.raises(sdlfilter.ConfigurationError, match="nowhere.yaml: No such file"):
        sdlfilter.mask(pa.table({"a": [1.0]}), "nowhere.yaml")
    with pytest.raises(sdlfilter.ConfigurationError, match="set: key"):
        sdlfilter.mask_file(configuration, set={"key": ["a"]})
    pathlib.Path("bad.yaml").write_text("version: [1\n")
    with pytest.raises(sdlfilter.ConfigurationError, match=r"bad.yaml:2:1: is not YAML"):
        sdlfilter.mask(pa.table({"a": [1.0]}), "bad.yaml")


def test_a_table_on_standard_output_is_not_swallowed(configuration):
    path = pathlib.Path(configuration)
    path.write_text(path.read_text().replace("parquet: {path: released.parquet}", 'arrow: {path: "-"}'))
    with pytest.raises(sdlfilter.ConfigurationError, match="standard output"):
        sdlfilter.mask_file(configuration)


def test_no_value_in_an_error(work, table):
    """A configuration that reads text as numbers, and data with values that must not be repeated."""
    bad = table.set_column(2, "wage", pa.array(["canary-wage"] * table.num_rows))
    config = {"version": 1, "name": "t", "key": {"file": "test.key"}, "unlisted": "drop",
              "columns": {"wage": {"role": "sensitive", "decimals": 2}}, "masks": [{"noise": {"columns": ["wage"], "sd": 9}}]}
    with pytest.raises(sdlfilter.Error) as caught:
        sdlfilter.mask(bad, config)
    assert "canary" not in str(caught.value)


def test_the_report_is_found_where_the_configuration_has_it_written(configuration, table, monkeypatch):
    """Its path may name variables, as the program takes them, from a file and from the environment."""
    path = pathlib.Path(configuration)
    text = path.read_text()
    monkeypatch.setenv("REPORTS", "kept")
    monkeypatch.delenv("NOWHERE", raising=False)
    os.mkdir("kept")
    for written, found in {"${REPORTS}/r.json": "kept/r.json", "${REPORTS:-x}/${NOWHERE:-d}.json": "kept/d.json", "kept/$${x}.json": "kept/${x}.json"}.items():
        path.write_text(text + f"report: {{json: '{written}', html: '{written}.html'}}\n")
        report = sdlfilter.mask_file(configuration)
        assert report.passed and os.path.exists(found) and found in report.files
        assert report.confidential_html is not None and report.public_html is not None
        os.remove(found)
    monkeypatch.setenv("SDLFILTER_REPORT__JSON", "kept/${NOWHERE}.json")  # as it stands
    assert sdlfilter.mask_file(configuration).passed and os.path.exists("kept/${NOWHERE}.json")


@pytest.mark.parametrize("written, words", [
    ("s3://bucket/report.json", "must be a path of this machine"),
    ("${NOWHERE}/report.json", "NOWHERE, which is not set"),
    ("${file:name}", "must refer to"),
])
def test_a_report_that_could_not_be_read_is_refused_before_anything_is_released(configuration, table, monkeypatch, written, words):
    monkeypatch.delenv("NOWHERE", raising=False)
    path = pathlib.Path(configuration)
    path.write_text(path.read_text() + f"report: {{json: '{written}'}}\n")
    for run in (lambda: sdlfilter.mask_file(configuration), lambda: sdlfilter.mask(table, configuration)):
        with pytest.raises(sdlfilter.ConfigurationError, match="report.json: .*" + words):
            run()
    assert not os.path.exists("released.parquet")
