"""Runs the program: one child process, its streams read beside each other, never left behind."""

from __future__ import annotations

import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from io import BufferedReader
from typing import IO, Any, Optional, Union

from .errors import ConfigurationError, Error

#: What a caller may give for ``progress``: True for a line on stderr, a function
#: that is called with each line of ``--progress json`` as a dict, or nothing.
Progress = Union[bool, Callable[[dict[str, Any]], None], None]


def program() -> str:
    """The path of the program: ``SDLFILTER_BINARY``, the wheel's own, or the one on PATH."""
    given = os.environ.get("SDLFILTER_BINARY")
    if given:
        return given
    packaged = pathlib.Path(__file__).parent / "bin" / "sdlfilter"
    if packaged.exists():
        return str(packaged)
    found = shutil.which("sdlfilter")
    if found is None:
        raise Error("the program sdlfilter is not in this package, and not on PATH: install the wheel, or name it in SDLFILTER_BINARY")
    return found


def settings(values: Optional[Mapping[str, Any]]) -> list[str]:
    """``--set`` for each setting, numbers and truth values written as YAML."""
    flags: list[str] = []
    for path, value in (values or {}).items():
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif not isinstance(value, (str, int, float)):
            raise ConfigurationError(f"set: {path}: must be a string, a number or a truth value, got {type(value).__name__}")
        flags += ["--set", f"{path}={value}"]
    return flags


def _show(line: dict[str, Any]) -> None:
    share = f" {100 * line['share']:.0f} %" if "share" in line else ""
    print(f"\r{line['phase']}: {line['records']:,} records{share} ", end="", file=sys.stderr, flush=True)


class Run:
    """One run of the program.

    The program starts with the ``with`` and ends with it, whatever ends it: Ctrl-C in
    the middle of the start as well. ``feed`` writes to its standard input in a thread
    of its own; standard error is read in another, so that neither side can wait for
    the other for ever.
    """

    stdout: BufferedReader

    def __init__(self, arguments: Sequence[str], *, feed: Optional[Callable[[IO[bytes]], None]] = None,
                 progress: Progress = None, fds: Sequence[int] = ()) -> None:
        self._report: Optional[Callable[[dict[str, Any]], None]] = _show if progress is True else progress or None
        self._messages: list[str] = []
        self.log: list[dict[str, Any]] = []  # one dict a line
        self._feed = feed
        self._feed_error: Optional[BaseException] = None
        self._fds = tuple(fds)
        self._command = [program(), *arguments, "--log-format", "json", "--progress", "json" if self._report else "none"]
        self._started: Optional[subprocess.Popen[bytes]] = None
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "Run":
        try:
            self._start()
        except BaseException:
            self.__exit__()  # a with whose start fails does not call it
            raise
        return self

    def _start(self) -> None:
        self._started = subprocess.Popen(
            self._command, stdin=subprocess.PIPE if self._feed else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=1 << 20, pass_fds=self._fds)
        assert isinstance(self._started.stdout, BufferedReader)
        self.stdout = self._started.stdout
        self._run(self._listen)
        if self._feed:
            self._run(self._write, self._feed)

    def _run(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    @property
    def _process(self) -> "subprocess.Popen[bytes]":
        assert self._started is not None, "the program runs within a with"
        return self._started

    def __exit__(self, *_: object) -> None:
        if self._started is None:
            return
        try:
            if self._process.poll() is None:
                self._process.terminate()
                self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            pass
        finally:  # a second Ctrl-C does not leave it behind either
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            for thread in self._threads:
                if thread.ident is not None:  # it has started
                    thread.join(timeout=10)
            if self._process.stderr is not None:
                self._process.stderr.close()

    def _write(self, feed: Callable[[IO[bytes]], None]) -> None:
        assert self._process.stdin is not None
        try:
            feed(self._process.stdin)
        except BrokenPipeError:
            pass  # the program has ended, and says why
        except BaseException as err:  # of the caller's reader: the release must not look complete
            self._feed_error = err
            self._process.kill()
        finally:
            try:
                self._process.stdin.close()
            except (BrokenPipeError, ValueError):
                pass

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for raw in self._process.stderr:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            record: Any = None
            if line.startswith("{"):
                try:
                    record = json.loads(line)
                except ValueError:
                    pass
            if isinstance(record, dict) and "phase" in record and "records" in record:
                if self._report:
                    try:
                        self._report(record)
                    except Exception:  # what is shown must not end what is done
                        self._report = None
            elif isinstance(record, dict):
                self.log.append(record)
            elif line.strip():
                self._messages.append(line)

    def await_output(self) -> BufferedReader:
        """Standard output, once the program has written to it or closed it.

        The wait is in short pieces: a signal that comes between Python's look for it and
        a read that blocks would wait with that read.
        """
        written = select.poll()
        written.register(self.stdout, select.POLLIN)
        while not written.poll(500):
            pass
        return self.stdout

    def wait(self) -> int:
        """Waits for the end and returns the exit status, negative where a signal ended it."""
        status = self._process.wait()
        for thread in self._threads:
            thread.join()
        if self._report is _show:
            print(file=sys.stderr)
        if self._feed_error is not None:
            raise self._feed_error
        return status

    def message(self, replace: Mapping[str, str]) -> str:
        """What the program said, without its name, and with paths as the caller knows them."""
        text = "\n".join(m.removeprefix("sdlfilter: ") for m in self._messages)
        for theirs, ours in replace.items():
            text = text.replace(theirs, ours)
        return text


def failure(status: int, message: str) -> Error:
    """The exception for a status that is neither done (0, 3) nor withheld (4)."""
    if status == 2:
        return ConfigurationError(message)
    if status < 0:
        return Error(f"the program was ended by signal {-status}; nothing was released")
    return Error(message or f"the program ended with status {status}")


def json_of(arguments: Sequence[str], *, progress: Progress = None, fds: Sequence[int] = (),
            replace: Optional[Mapping[str, str]] = None, accept: Sequence[int] = (0,)) -> tuple[Any, str]:
    """Runs a command that prints one JSON object, and returns it with that text."""
    with Run(arguments, progress=progress, fds=fds) as run:
        text = run.await_output().read()
        status = run.wait()
        if status not in accept:
            raise failure(status, run.message(replace or {}))
    return json.loads(text), text.decode()
