"""Tables in and out: pyarrow, pandas, polars, and what speaks Arrow's C stream (DuckDB).

The program reads a table as Arrow IPC. A table that is in memory goes through an
anonymous file in memory, which may be read twice (for percentages, and swaps over the
whole dataset) and is gone with its last reader; a RecordBatchReader goes through a
pipe, once, however long it is.
"""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import IO, Any, Optional

import pyarrow as pa
import pyarrow.ipc

from .errors import ConfigurationError

Back = Callable[["pa.Table"], Any]


def _kind(data: Any) -> str:
    module = type(data).__module__.partition(".")[0]
    return f"{module}.{type(data).__name__}"


def arrow(data: Any) -> tuple[Any, Back]:
    """A table or a reader for data, and what makes the same kind of the released table."""
    if isinstance(data, pa.RecordBatchReader):
        return data, lambda table: table
    if isinstance(data, pa.Table):
        return data, lambda table: table
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data]), lambda table: table
    kind = _kind(data)
    if kind == "pandas.DataFrame":
        if not all(isinstance(name, str) for name in data.columns):
            raise ConfigurationError("the columns of the DataFrame must have names that are strings")
        return pa.Table.from_pandas(data, preserve_index=False), lambda table: table.to_pandas()
    if kind == "polars.DataFrame":
        polars = sys.modules["polars"]
        return data.to_arrow(), polars.from_arrow
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data), lambda table: table
    raise ConfigurationError(f"{type(data).__module__}.{type(data).__qualname__} is no table: give a pyarrow Table or RecordBatchReader, a pandas or polars DataFrame, or what has __arrow_c_stream__")


def once(data: Any) -> bool:
    """Whether data can be read once alone."""
    return isinstance(data, pa.RecordBatchReader)


def write(data: Any, sink: IO[bytes]) -> None:
    """Data as an Arrow IPC stream."""
    with pa.ipc.new_stream(sink, data.schema) as writer:
        if isinstance(data, pa.Table):
            writer.write_table(data)
        else:
            for batch in data:
                writer.write_batch(batch)


class Private:
    """A folder of this process's user alone, removed at the end, and files in memory that it names."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.fds: list[int] = []
        #: The names by which the program speaks of what the caller knows otherwise.
        self.names: dict[str, str] = {}

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def text(self, name: str, content: str) -> str:
        path = self.path(name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(content)
        return path

    def table(self, data: Any, name: str) -> str:
        """The path of a table in memory; the program finds it as long as this lives."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("sdlfilter", os.MFD_CLOEXEC)
            with os.fdopen(os.dup(fd), "wb", buffering=1 << 20) as file:
                write(data, file)
            self.fds.append(fd)
            path = self.path(f"{name}.arrow")
            os.symlink(f"/proc/{os.getpid()}/fd/{fd}", path)
        else:
            path = self.path(f"{name}.arrow")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                write(data, file)
        self.names[path] = name
        return path


@contextmanager
def private() -> Iterator[Private]:
    with tempfile.TemporaryDirectory(prefix="sdlfilter-") as folder:
        p = Private(folder)
        try:
            yield p
        finally:
            for fd in p.fds:
                os.close(fd)


def path_of(data: Any, name: str, p: Private) -> str:
    """The path of a file, or of a table that is put where the program can read it."""
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(pathlib.Path(data)) if not isinstance(data, str) else data
    table, _ = arrow(data)
    return p.table(table, name)


def released(stream: BufferedReader) -> Optional["pa.Table"]:
    """The table that the program writes to its standard output; None where it ends without one."""
    if not stream.peek(1):
        return None
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all()
