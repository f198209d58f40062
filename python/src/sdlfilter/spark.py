"""Releases by Spark: it schedules, the program reads, masks and judges.

>>> release = sdlfilter.spark.mask("/data/persons", "pipeline.yaml", spark)
>>> release = sdlfilter.spark.mask(df, "pipeline.yaml", spark)
>>> release.dataframe(spark)

One task a shard; the driver plans and commits. The gate judges all shards as one release
before anything has its name: a withheld release publishes nothing, and an earlier one
stays. A task may fail, run again, or twice at once.

The files, the key and the folder of the release must be where every executor sees them
under the same paths (relative ones are from the driver's working folder), and the
executors' Python must have this package. Executors have the driver's environment only
where ``spark.executorEnv`` says so: a key in a variable has to be named there.

A DataFrame is written first, once, as Parquet into a hidden folder beside the release
that is this user's alone, and removed at the end. A task of Spark may be run again and
then see other rows, in another order; and what a task hands on is out of reach before the
others are done. So the data are fixed before they are masked, and masked data leave Spark's
hands only by the commit.

Source and release may be objects (``s3://``, ``gs://``, ``az://``), as the program takes them. Manifest,
states and a staged DataFrame are files: ``work`` names a folder for them that all executors see.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.parse
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _configuration, _program, _tables
from ._configuration import Configuration
from ._report import Report, read
from .errors import ConfigurationError, Error, QuarantineWarning, Withheld

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Release", "mask"]

RELEASED, QUARANTINED, REFUSED = 0, 3, 4

#: The columns that hold the places of a staged DataFrame.
STREAM, RECORD = "sdlfilter_stream", "sdlfilter_record"
#: The column that tells the file before its number does.
FILE = "sdlfilter_file"


@dataclass(frozen=True)
class Release:
    """A release that the gate has passed."""

    path: str  #: the folder of its files
    format: str  #: parquet, csv or jsonl
    report: Report  #: confidential

    def dataframe(self, spark: "SparkSession") -> "DataFrame":
        """The released records. CSV and JSON Lines are read with Spark's own idea of their types.

        Of objects Spark must have a file system of the path's scheme."""
        if self.format == "parquet":
            return spark.read.parquet(self.path)
        if self.format == "csv":
            return spark.read.csv(self.path, header=True, inferSchema=True)
        return spark.read.json(self.path)


def mask(data: Any, config: Configuration, spark: "SparkSession", *, shards: Optional[int] = None,
         set: Optional[Mapping[str, Any]] = None, allow_loosening: bool = False,
         work: Union[str, "os.PathLike[str]", None] = None) -> Release:
    """Masks files, or a DataFrame, into the folder that the configuration's sink names.

    ``data`` is the path of files (a file, folder or glob; also as Spark writes it,
    ``file:///…``) in the format of the configuration's source, None for the source as it stands, or a DataFrame. A DataFrame
    must say where its records stand, so that a record is masked alike whenever it is
    released: by ``identity`` or ``place`` in the configuration, or because it is read from
    Parquet files without a join or union, whose ``_metadata`` tells (Spark 3.5 or later);
    the release is then that of these files. ``shards`` is how many tasks there are at
    most, by default Spark's parallelism. ``work`` is a folder that all executors see, for
    what lies about until the commit; by default it is the release's, and must be named where
    the release is of objects.

    Raises `Withheld` where the gate refuses, `ConfigurationError` before anything is
    read, `Error` else.
    """
    given = dict(set or {})
    format, path = _sink(config, given)
    if not _configuration.is_object(path):
        path = os.path.abspath(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
    elif work is None:
        raise ConfigurationError(f"the release is of objects ({path}): name a folder that all executors see, for the manifest and the states (work=)")
    n = shards if shards is not None else spark.sparkContext.defaultParallelism
    within = os.path.dirname(path) if work is None else os.path.abspath(work)
    os.makedirs(within, exist_ok=True)
    private = tempfile.mkdtemp(prefix=f".{os.path.basename(path.rstrip('/'))}.spark-", dir=within)
    try:
        p = _tables.Private(private)
        if data is None:
            file = _configuration.written(config, p)
        elif isinstance(data, (str, os.PathLike)):
            given[f"source.{_kind(config, 'source')}.path"] = _local(os.fspath(data))
            file = _configuration.written(config, p)
        else:
            file = _staged(data, config, spark, p)
        return _Job(spark, p, config, file, format, path, given, allow_loosening).run(n)
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _local(address: str) -> str:
    """A path without the ``file:`` that Spark writes before one."""
    return "/" + address.removeprefix("file:").lstrip("/") if address.startswith("file:/") else address


def _kind(config: Configuration, section: str) -> str:
    found = _configuration.section(config, section)
    kinds = [k for k in found if k != "order"] if isinstance(found, Mapping) else []
    if len(kinds) != 1:
        raise ConfigurationError(f"{section}: must be one of parquet, csv, jsonl")
    return str(kinds[0])


def _sink(config: Configuration, given: Mapping[str, Any]) -> tuple[str, str]:
    """The format of the release and its folder."""
    kind = _kind(config, "sink")
    fields = _configuration.section(config, "sink")[kind]
    path = _configuration.path_of(f"sink.{kind}.path", given, fields.get("path") if isinstance(fields, Mapping) else None)
    if kind not in ("parquet", "csv", "jsonl") or not path or path == "-":
        raise ConfigurationError(f"sink.{kind}.path: must name a folder for the release, in Parquet, CSV or JSON Lines")
    return kind, path


def _staged(df: Any, config: Configuration, spark: "SparkSession", p: _tables.Private) -> str:
    """Writes the DataFrame where the shards can read it, and a configuration with it as source."""
    if not hasattr(df, "write") or not hasattr(df, "sparkSession"):
        raise ConfigurationError(f"{type(df).__module__}.{type(df).__qualname__} is no DataFrame of Spark and no path")
    masks = _configuration.section(config, "masks")
    for i, mask in enumerate(masks if isinstance(masks, list) else []):
        swap = mask.get("swap") if isinstance(mask, Mapping) else None
        if isinstance(swap, Mapping) and (swap.get("scope", "window") != "dataset" or not _configuration.section(config, "identity")):
            raise ConfigurationError(
                f"masks[{i}].swap: must have scope dataset, and the configuration identity, where a DataFrame is masked: else who exchanges with whom "
                "depends on the order of the records, which a DataFrame may change whenever it is computed, and two releases with other exchanges "
                "tell more than one. Name the columns that identify a respondent (identity), or give the path of the files")
    sections: dict[str, Mapping[str, Any]] = {}
    if not _configuration.section(config, "identity") and not _configuration.section(config, "place"):
        df = _placed(df)
        sections["place"] = {"stream": STREAM, "record": RECORD}
    folder = p.path("staged")
    timestamps = "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(timestamps)
    spark.conf.set(timestamps, "TIMESTAMP_MICROS")
    try:
        _cheap(df).parquet("file://" + urllib.parse.quote(folder))
    finally:
        spark.conf.set(timestamps, before or "INT96")
    sections["source"] = {"parquet": {"path": folder}}
    return _configuration.replaced(config, sections, p)


def _cheap(df: Any) -> Any:
    """A writer that spends little on files that are read once and removed.

    Whole numbers (the places among them) are written as differences, and no dictionary is
    sought of floating-point ones, which Spark would give up after a page or more of each."""
    writer = df.write.option("parquet.writer.version", "v2")
    if int(df.sparkSession.version.split(".")[0]) >= 4:  # Spark 3.5 has another name for it
        writer = writer.option("compression", "lz4_raw")
    for field in df.schema.fields:
        if field.dataType.typeName() in ("double", "float"):
            writer = writer.option(f"parquet.enable.dictionary#{field.name}", "false")
    return writer


def _placed(df: Any) -> Any:
    """The DataFrame with the place of each record in the files that it was read from."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    if not {STREAM, RECORD, FILE}.isdisjoint(df.columns):
        raise ConfigurationError(f"the DataFrame has a column {STREAM}, {RECORD} or {FILE}: name the first two in place, or give it another name")
    # The program takes files in the order of their paths, whose characters an address quotes.
    files = sorted(df.inputFiles(), key=lambda file: urllib.parse.unquote(file).encode())
    try:
        placed = df.select("*", F.col("_metadata.row_index").alias(RECORD), F.col("_metadata.file_path").alias(FILE))
        placed.schema
    except AnalysisException:
        raise ConfigurationError(
            "the DataFrame does not say where its records stand: name the columns that identify a respondent (identity), "
            "or those of the records' places (place: {stream: COLUMN, record: COLUMN}); only one that is read from Parquet "
            "files alone, without a join or union, tells by itself") from None
    if len(files) < 2:
        return placed.drop(FILE).withColumn(STREAM, F.lit(0))
    # Beside a copy of the records, to look a path up in a map or to compare it by a pattern takes as long again.
    numbers = df.sparkSession.createDataFrame(
        [(name, number) for number, file in enumerate(files) for name in _spellings(file)], f"{FILE} string, {STREAM} int")
    return placed.join(F.broadcast(numbers), FILE, "left").drop(FILE)


def _spellings(file: str) -> set[str]:
    """The addresses of a file: Spark writes one of a local file with one slash or with three."""
    path = "/" + file.removeprefix("file:").lstrip("/")
    return {f"file:{path}", f"file://{path}"} if file.startswith("file:") else {file}


class _Shard:
    """What a task does, to run or to survey its shard: it is sent to the executors."""

    def __init__(self, command: str, plan: str, states: str, folder: str, more: list[str]) -> None:
        self.command, self.plan, self.states, self.folder, self.more = command, plan, states, folder, more

    def __call__(self, number: int) -> Optional[str]:
        """Runs the program; returns what is wrong with the configuration, which no other attempt would cure."""
        command = [_program.program(), "shard", self.command, self.plan, "--shard", str(number),
                   "--state", os.path.join(self.states, str(number)), "--progress", "none", *self.more]
        done = subprocess.run(command, cwd=self.folder, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              preexec_fn=_ends_with_its_parent, check=False)
        message = "\n".join(line.removeprefix("sdlfilter: ") for line in done.stderr.decode("utf-8", "replace").splitlines()
                            if line.startswith("sdlfilter: "))
        if done.returncode == 0:
            return None
        if done.returncode == 2:
            return message
        raise Error(f"shard {number}: {message or f'ended with status {done.returncode}'}")


def _environment() -> dict[str, str]:
    """That of the task, in which the program has as many threads as Spark has given the task cores."""
    from pyspark import TaskContext

    context = TaskContext.get()
    cores = context.cpus() if context is not None else 0
    return {**({"GOMAXPROCS": str(cores)} if cores > 0 else {}), **os.environ}


def _ends_with_its_parent() -> None:
    """An attempt that Spark kills, or whose executor dies, leaves no program behind."""
    PR_SET_PDEATHSIG = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        pass


class _Job:
    """A release from its plan to its commit."""

    def __init__(self, spark: "SparkSession", p: _tables.Private, config: Configuration, file: str, format: str, path: str,
                 given: dict[str, Any], allow_loosening: bool) -> None:
        self.spark, self.p, self.file, self.format, self.path = spark, p, file, format, path
        self.plan, self.states = p.path("plan.json"), p.path("states")
        self.reports = _configuration.report_paths(config, given)
        for kind, where in self.reports.items():
            if not where:
                self.reports[kind] = given[f"report.{kind}"] = p.path(f"report.{kind}")
        self.settings = _program.settings(given) + (["--allow-loosening"] if allow_loosening else [])

    def run(self, shards: int) -> Release:
        _call(["shard", "plan", self.file, "--shards", str(shards), "--out", self.plan, *self.settings], self.p, (RELEASED,))
        with open(self.plan, "rb") as file:
            text = file.read()
        plan = json.loads(text)
        n = len(plan["shards"])
        os.mkdir(self.states, 0o700)
        try:
            pairs = self._pairs(n) if plan.get("pairs") else []
            self._shards(n, "run", self.states, pairs)
            status = _call(["shard", "commit", self.plan, "--states", self.states, "--summary", "json"], self.p, (RELEASED, QUARANTINED, REFUSED))
        finally:
            # After a commit there is nothing; else these are the masked parts of no release. Of
            # objects they are uploads that nobody sees and a rule of the lifecycle ends.
            if not _configuration.is_object(self.path):
                folder, name = os.path.split(self.path)
                shutil.rmtree(os.path.join(folder, f".{name}.shards-{hashlib.sha256(text).hexdigest()[:16]}"), ignore_errors=True)
        return self._end(status)

    def _pairs(self, n: int) -> list[str]:
        """Finds which records a swap of scope dataset exchanges; returns what the shards need to know of it."""
        surveys, pairs = self.p.path("surveys"), self.p.path("pairs")
        os.mkdir(surveys, 0o700)
        os.mkdir(pairs, 0o700)
        self._shards(n, "survey", surveys, [])
        _call(["shard", "pair", self.plan, "--states", surveys, "--out", pairs], self.p, (RELEASED,))
        return ["--pairs", pairs]

    def _shards(self, n: int, command: str, states: str, more: list[str]) -> None:
        context = self.spark.sparkContext
        context.setJobDescription(f"sdlfilter: {n} shards of {self.path}")
        try:
            wrong = context.parallelize(range(n), n).map(_Shard(command, self.plan, states, os.getcwd(), more)).collect()
        except Exception as err:
            raise Error(_cause(err, self.p)) from None
        finally:
            context.setJobDescription("")
        for message in wrong:
            if message is not None:
                raise ConfigurationError(_known(message, self.p))

    def _end(self, status: int) -> Release:
        page = str(self.reports["html"])
        report = Report(read(str(self.reports["json"])), confidential_html=_page(page), files=[self.path],
                        public_html=_page(os.path.splitext(page)[0] + ".public.html") if status != REFUSED else None)
        if status == REFUSED:
            raise Withheld("the gate refused the release: " + "; ".join(report.broken), report)
        if status == QUARANTINED:
            warnings.warn(f"{report['records']['quarantined']:,} records could not be masked and are in quarantine",
                          QuarantineWarning, stacklevel=4)
        return Release(self.path, self.format, report)


def _call(arguments: list[str], p: _tables.Private, accept: tuple[int, ...]) -> int:
    """Runs a command of the driver's."""
    with _program.Run(arguments) as run:
        run.await_output().read()
        status = run.wait()
        if status not in accept:
            raise _program.failure(status, run.message(p.names))
    return status


def _known(message: str, p: _tables.Private) -> str:
    for theirs, ours in p.names.items():
        message = message.replace(theirs, ours)
    return message


def _cause(err: Exception, p: _tables.Private) -> str:
    """What a shard said, without Spark's account of where it did."""
    for line in str(err).splitlines():
        _, found, message = line.partition("sdlfilter.errors.Error: ")
        if found:
            return _known(message, p)
    return f"Spark could not run the shards: {str(err).splitlines()[0] if str(err) else type(err).__name__}"


def _page(path: str) -> Optional[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None
