"""Exceptions of the package. Their texts are those of the command."""

__all__ = ["FolderError", "PlanError", "RunError", "ThinstreamError", "TraceError"]


class ThinstreamError(Exception):
    """Base class of all exceptions of the package."""


class PlanError(ThinstreamError, ValueError):
    """A plan that makes no sense; the text says what would."""


class RunError(ThinstreamError, RuntimeError):
    """A run that cannot be finished."""


class FolderError(ThinstreamError, OSError):
    """A folder or a journal of results that cannot be used."""


class TraceError(ThinstreamError, ValueError):
    """A capture that cannot be read, or a question to it that makes no sense."""
