"""What can go wrong. The texts are those of the command."""

__all__ = ["FolderError", "PlanError", "RunError", "ThinstreamError", "TraceError"]


class ThinstreamError(Exception):
    """Any of them."""


class PlanError(ThinstreamError, ValueError):
    """A plan that makes no sense; the text says what would."""


class RunError(ThinstreamError, RuntimeError):
    """A run that cannot be finished."""


class FolderError(ThinstreamError, OSError):
    """A folder or a journal of results that cannot be used."""


class TraceError(ThinstreamError, ValueError):
    """A capture that cannot be read, or a question to it that makes no sense."""
