"""Releases by Spark are those of one run, whatever happens to executors and tasks."""

import os
import pathlib
import signal
import stat
import threading

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import sdlfilter
import sdlfilter.spark


def single(**settings):
    """The release of one run of the program, by id."""
    report = sdlfilter.mask_file("pipeline.yaml", set={"sink.parquet.path": "single/", **settings})
    return records("single"), report


def records(path):
    table = pq.read_table(path).sort_by("id")
    assert table.column_names == ["id", "wage", "age"]
    return table.to_pydict()


def nothing_left():
    assert [name for name in os.listdir("out") if name.startswith(".")] == [] if os.path.isdir("out") else True


def same_measures(a, b):
    for x, y in zip(a["columns"]["wage"]["risk"], b["columns"]["wage"]["risk"], strict=True):
        assert x["R"] == pytest.approx(y["R"], rel=1e-9)
    assert a["columns"]["wage"]["utility"]["efficiency"] == pytest.approx(b["columns"]["wage"]["utility"]["efficiency"], rel=1e-9)


def test_files_are_one_run(spark, work):
    want, report = single()
    release = sdlfilter.spark.mask(None, "pipeline.yaml", spark, shards=5)
    assert records(release.path) == want and len(os.listdir(release.path)) >= 5
    same_measures(release.report, report)
    assert release.dataframe(spark).count() == len(want["id"])
    nothing_left()
    # Over an earlier release, and from a path that is given.
    release = sdlfilter.spark.mask("file://" + os.getcwd() + "/in/part 0.parquet", "pipeline.yaml", spark, shards=2, work="elsewhere/work")
    assert os.listdir("elsewhere/work") == []
    assert len(records(release.path)["id"]) == 9000
    nothing_left()


def test_dataframes_are_one_run_of_their_files(spark, work):
    """However Spark parts and orders the records: their places are those of the files."""
    want, report = single()
    df = spark.read.parquet("file://" + os.getcwd() + "/in")
    for name, data in {
        "as read": df,
        "one partition": df.coalesce(1),
        "a column more": df.withColumn("wage", F.col("wage") * 1),
    }.items():
        release = sdlfilter.spark.mask(data, "pipeline.yaml", spark, shards=3)
        assert records(release.path) == want, name
        same_measures(release.report, report)
        nothing_left()
    some = sdlfilter.spark.mask(df.where("age < 40"), "pipeline.yaml", spark, set={"masks.0.noise.sd": 90}, allow_loosening=True)
    sdlfilter.mask_file("pipeline.yaml", set={"sink.parquet.path": "single/", "masks.0.noise.sd": 90}, allow_loosening=True)
    whole, got = records("single"), records(some.path)
    assert 0 < len(got["id"]) < len(want["id"]) and all(whole["wage"][id] == wage for id, wage in zip(got["id"], got["wage"]))


def test_identity_and_places_of_a_shuffled_dataframe(spark, work):
    df = spark.read.parquet("file://" + os.getcwd() + "/in")
    shuffled = df.repartition(4, "age").union(df.limit(0))
    with pytest.raises(sdlfilter.ConfigurationError, match="does not say where its records stand"):
        sdlfilter.spark.mask(shuffled, "pipeline.yaml", spark)
    text = pathlib.Path("pipeline.yaml").read_text()
    pathlib.Path("pipeline.yaml").write_text(text + "identity: [id]\n")
    want, _ = single()
    assert records(sdlfilter.spark.mask(shuffled, "pipeline.yaml", spark).path) == want
    # The same records by place, as columns tell it.
    pathlib.Path("pipeline.yaml").write_text(text)
    want, _ = single()
    pathlib.Path("pipeline.yaml").write_text(text + "place: {stream: part, record: row}\n")
    placed = shuffled.withColumn("part", F.expr("case when id < 9000 then 0 when id = 9000 then 1 else 2 end")) \
        .withColumn("row", F.expr("case part when 0 then id when 1 then 0 else id - 9001 end"))
    assert records(sdlfilter.spark.mask(placed, "pipeline.yaml", spark).path) == want
    with pytest.raises(sdlfilter.Error, match="two records have the same place"):
        sdlfilter.spark.mask(placed.withColumn("row", F.lit(0)), "pipeline.yaml", spark)
    assert records("out/released") == want
    nothing_left()


def test_a_dataframe_of_all_kinds_of_columns(spark, work):
    """Whatever the files look like that Spark writes in between: what is not masked stays as it is."""
    df = spark.read.parquet("file://" + os.getcwd() + "/in").selectExpr(
        "*", "id % 2 = 0 AS even", "if(id % 7 = 0, NULL, sha2(string(id), 512)) AS text", "string(age) AS few", "repeat('x', int(id % 300)) AS prefixes",
        "date_add(date'2020-02-28', int(id % 4000) - 9000) AS day", "timestamp_micros(id * 1234567891 - 999) AS instant", "float(wage / 3) AS single",
        "if(id % 3 = 0, NULL, wage * 1e300) AS great", "cast(id * 1.01 AS decimal(30, 4)) AS long_number", "cast(age AS decimal(7, 2)) AS number",
        "unhex(hex(id)) AS bytes", "sequence(0, int(id % 5)) AS list", "named_struct('a', wage, 'b', array(string(id))) AS record",
        "map(string(age), id, 'k', NULL) AS pairs", "tinyint(age) AS small", "wage AS `a.b`", "-id * 461168601842 AS far",
    )
    text = pathlib.Path("pipeline.yaml").read_text()
    others = "".join(f"  {name}: {{role: other}}\n" for name in df.columns if name not in ("id", "wage", "age"))
    # Copies of the wage stand beside it: that they tell of it is not what is tested.
    pathlib.Path("pipeline.yaml").write_text(text.replace("masks:\n", others + "masks:\n") + "assess: {intruder: {inversion: false}}\n")
    release = sdlfilter.spark.mask(df, "pipeline.yaml", spark, shards=3)
    pathlib.Path("pipeline.yaml").write_text(text)
    columns = [f"`{name}`" for name in df.columns if name != "wage"]
    want = {row.id: row for row in df.select(columns).collect()}
    got = {row.id: row for row in release.dataframe(spark).select(columns).collect()}
    assert len(got) == df.count() and got == want
    assert pq.read_table(release.path, columns=["id", "wage", "age"]).sort_by("id").to_pydict() == single()[0]


def test_a_withheld_release_publishes_nothing(spark, work):
    """The verdict is that of all shards; an earlier release stays."""
    df = spark.read.parquet("file://" + os.getcwd() + "/in")
    before = records(sdlfilter.spark.mask(df, "pipeline.yaml", spark, shards=3).path)
    for data in (None, df):
        with pytest.raises(sdlfilter.Withheld) as caught:
            sdlfilter.spark.mask(data, "pipeline.yaml", spark, shards=3, set={"gate.rules.0.min_efficiency": 0.9999})
        assert caught.value.report.broken == ["wage: efficiency at least 0.9999"]
        assert records("out/released") == before
        nothing_left()


class Hindered(sdlfilter.spark._Shard):
    """Fails the first attempt of each shard, and ends the executor of one."""

    def __call__(self, number):
        try:
            os.close(os.open(os.path.join(self.states, f".first-{number}"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return super().__call__(number)
        if number == 1:
            os.kill(executor(), signal.SIGKILL)
            threading.Event().wait(60)  # for the end of this process with its executor's
        if number == 2:  # after the work is done, so that it is done twice
            super().__call__(number)
        raise RuntimeError("the first attempt")


def executor():
    """The process of the executor: the first parent that is Java's."""
    pid = os.getpid()
    while pathlib.Path(f"/proc/{pid}/comm").read_text().strip() != "java":
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return pid


def test_attempts_that_fail_and_an_executor_that_is_killed(spark, work, monkeypatch):
    want, report = single()
    monkeypatch.setattr(sdlfilter.spark, "_Shard", Hindered)
    release = sdlfilter.spark.mask(None, "pipeline.yaml", spark, shards=4)
    assert records(release.path) == want
    same_measures(release.report, report)
    nothing_left()


SWAP = "  - swap: {keys: [age], attribute: id, columns: [wage], scope: dataset, rate: 0.5, policy: random}\n"


def swapped(*others):
    """Puts a swap over all records before the other masks, and returns the configuration without."""
    text = pathlib.Path("pipeline.yaml").read_text()
    pathlib.Path("pipeline.yaml").write_text("".join(others) + text.replace("masks:\n", "masks:\n" + SWAP))
    return text


def test_files_with_a_swap_are_one_run(spark, work, monkeypatch):
    """Partners come from all shards; attempts that fail, and an executor that is killed, change nothing."""
    plain, _ = single()
    swapped()
    want, report = single()
    assert want["wage"] != plain["wage"]
    release = sdlfilter.spark.mask(None, "pipeline.yaml", spark, shards=4)
    assert records(release.path) == want
    same_measures(release.report, report)
    assert [m["records"] for m in release.report["masks"]] == [m["records"] for m in report["masks"]]
    nothing_left()
    done = []

    class Counted(Hindered):
        def __init__(self, command, *more):
            super().__init__(command, *more)
            done.append(command)

    Counted.__reduce__ = lambda self: (Hindered, (self.command, self.plan, self.states, self.folder, self.more))
    monkeypatch.setattr(sdlfilter.spark, "_Shard", Counted)
    release = sdlfilter.spark.mask(os.getcwd() + "/in", "pipeline.yaml", spark, shards=3)
    assert done == ["survey", "run"] and records(release.path) == want
    same_measures(release.report, report)
    nothing_left()


def test_a_withheld_swap_publishes_nothing(spark, work):
    """Of a refused release nothing stays: no survey, no pairs, no parts."""
    swapped()
    with pytest.raises(sdlfilter.Withheld):
        sdlfilter.spark.mask(None, "pipeline.yaml", spark, shards=3, set={"gate.rules.0.min_efficiency": 0.9999})
    assert os.listdir("out") == []


def test_dataframes_with_a_swap_are_one_run(spark, work):
    """However Spark parts and orders the records, the same respondents exchange the same values."""
    text = pathlib.Path("pipeline.yaml").read_text()
    pathlib.Path("pipeline.yaml").write_text("identity: [id]\n" + text)
    plain, _ = single()
    swapped()
    want, report = single()
    assert want["wage"] != plain["wage"]
    df = spark.read.parquet("file://" + os.getcwd() + "/in")
    for name, data in {"as read": df, "by age": df.repartition(5, "age"), "in one partition, sorted": df.coalesce(1).sort("wage")}.items():
        release = sdlfilter.spark.mask(data, "pipeline.yaml", spark, shards=3)
        assert records(release.path) == want, name
        assert [m["records"] for m in release.report["masks"]] == [m["records"] for m in report["masks"]]
        nothing_left()


def test_other_dataframes_with_a_swap_are_refused(spark, work):
    """Who exchanges with whom depends on the records' order, which a DataFrame need not have twice."""
    swapped()
    text = pathlib.Path("pipeline.yaml").read_text()
    df = spark.read.parquet("file://" + os.getcwd() + "/in")
    for refused in (text, "identity: [id]\n" + text.replace(" scope: dataset,", "")):
        pathlib.Path("pipeline.yaml").write_text(refused)
        with pytest.raises(sdlfilter.ConfigurationError, match=r"masks\[0\].swap: must have scope dataset, and the configuration identity"):
            sdlfilter.spark.mask(df.repartition(5, "age"), "pipeline.yaml", spark)
        assert not os.path.exists("out/released")
        nothing_left()


def objects(bucket, prefix):
    """The objects under a prefix by their names."""
    return {found.key: found.get()["Body"].read() for found in bucket.objects.filter(Prefix=prefix)}


def test_objects_are_one_run(spark, work, bucket):
    """From and to a bucket: released once all are judged, and what was released stays where it is refused."""
    want, report = single()
    for name in os.listdir("in"):
        bucket.upload_file(f"in/{name}", f"in/{name.replace(' ', '-')}")
    to = {"sink.parquet.path": "s3://data/out/released"}
    release = sdlfilter.spark.mask("s3://data/in", "pipeline.yaml", spark, shards=3, set=to, work="work")
    assert release.path == "s3://data/out/released"
    same_measures(release.report, report)
    before = objects(bucket, "out/released/")
    os.mkdir("fetched")
    for key, content in before.items():
        if key.endswith(".parquet"):
            pathlib.Path("fetched", os.path.basename(key)).write_bytes(content)
    assert len(os.listdir("fetched")) >= 3 and records("fetched") == want
    with pytest.raises(sdlfilter.Withheld):
        sdlfilter.spark.mask(spark.read.parquet("file://" + os.getcwd() + "/in"), "pipeline.yaml", spark, shards=3, work="work",
                             set={**to, "gate.rules.0.min_efficiency": 0.9999})
    assert objects(bucket, "out/") == before
    assert os.listdir("work") == [] and not os.path.exists("s3:")


def test_errors(spark, work):
    with pytest.raises(sdlfilter.ConfigurationError, match=r"pipeline.yaml:10:34"):
        text = pathlib.Path("pipeline.yaml").read_text()
        pathlib.Path("pipeline.yaml").write_text(text.replace("20%", "-3"))
        sdlfilter.spark.mask(None, "pipeline.yaml", spark)
    pathlib.Path("pipeline.yaml").write_text(text.replace("path: out/released", "path: '-'"))
    with pytest.raises(sdlfilter.ConfigurationError, match="must name a folder"):
        sdlfilter.spark.mask(None, "pipeline.yaml", spark)
    pathlib.Path("pipeline.yaml").write_text(text)
    pathlib.Path("pipeline.yaml").write_text(text.replace("path: out/released", "path: 's3://bucket/released'"))
    with pytest.raises(sdlfilter.ConfigurationError, match="name a folder that all executors see"):
        sdlfilter.spark.mask(None, "pipeline.yaml", spark)
    assert not os.path.exists("s3:")
    pathlib.Path("pipeline.yaml").write_text(text)
    with pytest.raises(sdlfilter.ConfigurationError, match="no DataFrame of Spark"):
        sdlfilter.spark.mask([1], "pipeline.yaml", spark)
    nothing_left()


def test_what_lies_about_meanwhile_is_private(spark, work, monkeypatch):
    """The staged DataFrame, the manifest and the states are in a folder of the user's alone."""
    seen = []

    def listed(job, *_):
        folder = job.p.folder
        seen.append((stat.S_IMODE(os.stat(folder).st_mode), sorted(os.listdir(folder))))
        raise sdlfilter.Error("enough")

    monkeypatch.setattr(sdlfilter.spark._Job, "_shards", listed)
    with pytest.raises(sdlfilter.Error, match="enough"):
        sdlfilter.spark.mask(spark.read.parquet("file://" + os.getcwd() + "/in"), "pipeline.yaml", spark)
    assert seen[0][0] == 0o700 and "staged" in seen[0][1] and "plan.json" in seen[0][1]
    nothing_left()
