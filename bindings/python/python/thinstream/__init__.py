"""thinstream: a laboratory for thin-stream transports, and the analysis of packet captures.

>>> from thinstream import lab
>>> results = lab.run(lab.Plan.experiment("rto-wlan/analysis", size="small"))
>>> results.finished > 0
True

`thinstream.lab` runs plans in virtual time, `thinstream.advice` is for policies in Python, `thinstream.trace` reads captures. Results are Arrow tables, which pyarrow,
pandas and polars take without a copy.
"""

from thinstream import advice, lab, trace
from thinstream._errors import (
    FolderError,
    PlanError,
    RunError,
    ThinstreamError,
    TraceError,
)
from thinstream._native import Table, __version__

__all__ = [
    "FolderError",
    "PlanError",
    "RunError",
    "Table",
    "ThinstreamError",
    "TraceError",
    "__version__",
    "advice",
    "lab",
    "trace",
]
