"""Sparse matrices as the core reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sparse_checks import check_sparse, is_canonical
from .validation import Array, check_range


class SparseRows:
    """Rows in the compressed form that the core reads; made from any SciPy sparse matrix."""

    def __init__(self, a: Any, name: str) -> None:
        check_sparse(a, name)
        csr = a.tocsr()
        if csr is not a:
            check_sparse(csr, name)
        if csr.dtype.kind == "c":
            raise ValueError(f"{name}: Complex data not supported; got {csr.dtype}")
        if csr.dtype.kind not in "fiub":
            raise ValueError(f"{name}: expected numbers, got dtype {csr.dtype}")
        if csr.shape[1] >= 2**31:
            raise ValueError(f"{name}: {csr.shape[1]} columns; at most 2^31 - 1 are supported")
        entries = int(csr.indptr[-1])
        if not is_canonical(csr.indices[:entries], csr.indptr):
            csr = csr.copy()
            csr.has_sorted_indices = csr.has_canonical_format = False  # whatever was remembered of them
            csr.sum_duplicates()
            entries = int(csr.indptr[-1])
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
        self.matrix = csr
        self.shape: tuple[int, int] = (int(csr.shape[0]), int(csr.shape[1]))
        self.dtype: np.dtype[Any] = csr.dtype
        self.value: Array = np.ascontiguousarray(csr.data[:entries])
        self.column: Array = np.ascontiguousarray(csr.indices[:entries], dtype=np.int32)
        self.start: Array = np.ascontiguousarray(csr.indptr, dtype=np.int64)

    def locate(self, entry: int) -> str:
        """An index into `value` as words."""
        row = int(np.searchsorted(self.start, entry, side="right")) - 1
        return f"example {row}, feature {int(self.column[entry])}"

    def check(self, name: str, variances: bool) -> None:
        """The checks of `check_finite` or, for variances, `check_variances`."""
        check_range(self.value, name, "variance", 0.0 if variances else -np.inf, where=self.locate)
