"""What can go wrong, one class for each exit status of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._report import Report


class Error(RuntimeError):
    """The program failed (status 1). Nothing was released.

    The message says where, and holds no value of a respondent.
    """

    status = 1


class ConfigurationError(Error, ValueError):
    """The configuration, or an argument, does not fit (status 2). Nothing was read or released."""

    status = 2


class Withheld(Error):
    """The gate refused the release (status 4).

    ``report`` is the confidential report, which says which rules do not hold.
    """

    status = 4

    def __init__(self, message: str, report: Optional["Report"] = None) -> None:
        super().__init__(message)
        self.report = report


class QuarantineWarning(UserWarning):
    """The release is complete but for records that could not be masked (status 3)."""
