"""Tables of Iceberg between the program and Spark, which deletes records by separate files and changes columns.

    test_iceberg_spark.py PROGRAM FOLDER JAR
"""

import base64
import collections
import hashlib
import json
import pathlib
import subprocess
import sys

from pyspark.sql import SparkSession

program, folder, jar = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.jars", jar)
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.local", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.local.type", "hadoop")
    .config("spark.sql.catalog.local.warehouse", str(folder / "spark"))
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
(folder / "key").write_text(base64.b64encode(hashlib.sha256(b"test").digest()).decode() + "\n")
(folder / "key").chmod(0o600)


def run(source, sink, fails="", **more):
    config = {
        "version": 1,
        "name": "iceberg",
        "source": {"iceberg": {"path": str(source), **more}},
        "key": {"file": str(folder / "key")},
        "columns": {"person": {"role": "identifier"}, "region": {"role": "key"}, "age": {"role": "key"}, "wage": {"role": "sensitive"}, "since": {"role": "other"}, "seen": {"role": "other"}, "born": {"role": "other"}},
        "masks": [{"noise": {"columns": ["wage"], "sd": 90}}],
        "sink": {"iceberg": sink},
        "report": {"json": str(folder / "report.json")},
    }
    (folder / "p.yaml").write_text(json.dumps(config))
    done = subprocess.run([program, "run", str(folder / "p.yaml")], capture_output=True, text=True, check=False)
    if fails:
        assert done.returncode and fails in done.stderr, (done.returncode, done.stderr)
        return
    assert done.returncode == 0, done.stderr


def same(a, b, what):
    kept = ["region", "age", "since", "seen", "born"]
    x, y = (collections.Counter(map(tuple, t.select(*kept).collect())) for t in (a, b))
    assert x == y, (what, list((x - y).items())[:3], list((y - x).items())[:3])
    print("ok:", what, sum(x.values()))


people = folder / "spark" / "db" / "people"
spark.sql(
    """CREATE TABLE local.db.people (person string, area string, age int, wage float, born date, seen timestamp) USING iceberg
    PARTITIONED BY (area) TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')"""
)
for first in (0, 3000):
    spark.sql(
        f"""INSERT INTO local.db.people SELECT concat('CANARY', id), element_at(array('north', 'south', 'east'), cast(id % 3 + 1 as int)),
        cast(18 + id * 7 % 60 as int), cast(1000 + id * 13 % 8000 as float), date_add(date'1950-01-01', cast(id % 9000 as int)),
        timestamp_micros(1700000000000000 + id) FROM range({first}, {first + 3000})"""
    )
spark.sql("DELETE FROM local.db.people WHERE age < 25 OR person = 'CANARY5999'")
spark.sql("UPDATE local.db.people SET age = 70 WHERE age = 71")
spark.sql("ALTER TABLE local.db.people RENAME COLUMN area TO region")
spark.sql("ALTER TABLE local.db.people ALTER COLUMN age TYPE bigint")
spark.sql("ALTER TABLE local.db.people ALTER COLUMN wage TYPE double")
spark.sql("ALTER TABLE local.db.people ADD COLUMN since int")
spark.sql("INSERT INTO local.db.people VALUES ('CANARY9999', 'west', 40, 1234.5, date'2000-02-29', timestamp'2024-02-29 12:00:00.123456', 2020)")
deletes = spark.sql("SELECT count(*), sum(record_count) FROM local.db.people.delete_files WHERE content = 1").collect()[0]
assert deletes[0] > 0 and deletes[1] > 500, deletes
run(people, {"path": str(folder / "released")})
released = spark.read.format("iceberg").load(str(folder / "released"))
same(released, spark.table("local.db.people"), f"deleted by {deletes[0]} files of positions, updated, renamed, wider and added columns, from Spark and read by it")
assert released.where("wage < 5000").count() == sum(r.wage < 5000 for r in released.collect())
# Into a table of Spark's, by partitions with a transform, and again in the place of it; expired, what was before is gone.
spark.sql(
    """CREATE TABLE local.db.open (region string, age bigint, wage double, born date, seen timestamp, since int) USING iceberg
    PARTITIONED BY (region, years(born), bucket(2, age), days(seen)) TBLPROPERTIES ('format-version'='2')"""
)
opened = folder / "spark" / "db" / "open"
run(people, {"path": str(opened), "mode": "append"})
spark.sql("REFRESH TABLE local.db.open")
same(spark.table("local.db.open"), spark.table("local.db.people"), "a partitioned table, read by Spark")
assert spark.table("local.db.open").where("born >= date'1960-05-01' and region = 'north'").count() == spark.table("local.db.people").where("born >= date'1960-05-01' and region = 'north'").count()
before = set(opened.rglob("*.parquet"))
run(people, {"path": str(opened)})
spark.sql("REFRESH TABLE local.db.open")
same(spark.table("local.db.open"), spark.table("local.db.people"), "replaced, read by Spark")
spark.sql("CALL local.system.expire_snapshots(table => 'db.open', older_than => current_timestamp(), retain_last => 1)")
left = before & set(opened.rglob("*.parquet"))
assert not left, f"{len(left)} files of the earlier release are left"
print("ok: snapshots that expire take their files with them", len(before))
spark.sql("INSERT INTO local.db.open VALUES ('west', 1, 2.0, date'2000-01-01', timestamp'2000-01-01 00:00:00', 3)")
run(people, {"path": str(opened), "mode": "partitions"})
spark.sql("REFRESH TABLE local.db.open")
print("ok: after a commit of Spark's", spark.table("local.db.open").count())
# Version 3: read without deletion vectors, and refused with them.
spark.sql("CREATE TABLE local.db.third (region string, age bigint, wage double, born date, seen timestamp, since int, person string) USING iceberg TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read')")
spark.sql("INSERT INTO local.db.third SELECT /*+ COALESCE(1) */ region, age, wage, born, seen, since, person FROM local.db.people")
third = folder / "spark" / "db" / "third"
run(third, {"path": str(folder / "of third")})
same(spark.read.format("iceberg").load(str(folder / "of third")), spark.table("local.db.third"), "version 3")
spark.sql("DELETE FROM local.db.third WHERE age = 40")
run(third, {"path": str(folder / "of third")}, fails="deletion vectors")
print("ok: deletion vectors are refused")
for name in ("released", "spark/db/open", "of third"):
    for at in (folder / name).rglob("*"):
        assert not at.is_file() or b"CANARY" not in at.read_bytes(), at
