import base64
import hashlib
import os
import pathlib
import sys

import boto3
import numpy
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from pyspark.sql import SparkSession

import sdlfilter

# One key for ever: with one of its own a run would end otherwise from time to time.
KEY = base64.b64encode(hashlib.sha256(b"the tests of sdlfilter").digest()).decode()


@pytest.fixture(scope="session")
def bucket():
    """The bucket data of an S3 server in this process, which the environment leads to."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    address = "http://127.0.0.1:%d" % server.get_host_and_port()[1]
    os.environ.update(AWS_ENDPOINT_URL_S3=address, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="access",
                      AWS_SECRET_ACCESS_KEY="a secret of the test", AWS_EC2_METADATA_DISABLED="true")
    found = boto3.resource("s3").Bucket("data")
    found.create()
    yield found
    server.stop()


@pytest.fixture(scope="session")
def spark(tmp_path_factory, bucket):
    """Two executors, each a process of its own; tasks are tried again and speculated on."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]").appName("sdlfilter-test")
        .config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "3").config("spark.speculation", "true").config("spark.speculation.multiplier", "1.01")
        .config("spark.speculation.quantile", "0.1").config("spark.speculation.minTaskRuntime", "10ms")
        .config("spark.local.dir", str(tmp_path_factory.mktemp("spark")))
        .getOrCreate()
    )
    yield session
    session.stop()


N = 20_000

CONFIGURATION = """\
version: 1
name: test
key: {file: test.key}
source: {parquet: {path: in}}
columns:
  id: {role: other}
  wage: {role: sensitive, decimals: 2}
  age: {role: key}
masks:
  - noise: {columns: [wage], sd: 20%}
sink: {parquet: {path: out/released}}
gate: {rules: [{column: wage, min_efficiency: 0.5}]}
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with a key, a configuration and three files of several row groups."""
    monkeypatch.chdir(tmp_path)
    key = pathlib.Path("test.key")
    key.touch(0o600)
    key.write_text(KEY)
    draw = numpy.random.default_rng(7)
    table = pa.table({
        "id": pa.array(range(N), pa.int64()),
        "wage": pa.array(numpy.sort(numpy.round(draw.lognormal(6, 0.6, N), 2))),  # shards are unlike one another
        "age": pa.array(draw.integers(16, 90, N), pa.int32()),
    })
    os.mkdir("in")
    for i, (first, rows) in enumerate([(0, 9000), (9000, 1), (9001, N - 9001)]):
        pq.write_table(table.slice(first, rows), f"in/part {i}.parquet", row_group_size=2500)
    pathlib.Path("pipeline.yaml").write_text(CONFIGURATION)
    return tmp_path
