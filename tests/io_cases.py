"""Small files, and what the tests of files compare."""

import io

import numpy as np
import scipy.sparse
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import svmgsu

MEANS = "doc_1 1:1.5 2:-2\ndoc_2 2:3e-1\ndoc_3 1:4\n"
LABELS = "doc_2 -1\ndoc_1 +1\ndoc_3 1\n"
DIAGONAL = "doc_3: 1,1:0.1 2,2:0.2\ndoc_1 2,2:0.5\ndoc_2 1,1:1\n"


def text(content):
    return io.BytesIO(content.encode() if isinstance(content, str) else content)


def read(means=MEANS, labels=None, cov=None, **options):
    return svmgsu.io.read_text(
        *(None if part is None else text(part) for part in (means, labels, cov)), **options
    )


def dense(matrix):
    return matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)


def same_bits(a, b):
    a, b = dense(a), dense(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


finite = st.floats(allow_nan=False, allow_infinity=False)
matrices = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.one_of(st.just(0.0), finite)
)
words = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1).filter(
    lambda word: not word.startswith("#") and not word.endswith(":") and word.split() == [word]
)
