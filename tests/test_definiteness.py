"""Covariances are positive semidefinite, nearly so by rounding, or refused; units do not matter."""

import io

import numpy as np
import pytest

import svmgsu

UNITS = np.array([1e-9, 1.0, 1e7, 1e3])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rank_two(count=30, n=4, seed=0):
    F = np.random.default_rng(seed).normal(size=(count, 2, n))
    return F.transpose(0, 2, 1) @ F


def rounded(S, digits=6):
    """To significant digits, as generators of text files write."""
    return np.vectorize(lambda v: float(f"{v:.{digits}g}"))(S)


def packed_of(S):
    row, column = np.triu_indices(S.shape[1])
    return S[:, row, column]


def lowest(S):
    """The smallest eigenvalue of each correlation matrix."""
    root = np.sqrt(np.diagonal(S, axis1=1, axis2=2).astype(float))
    return np.linalg.eigvalsh(S / (root[:, :, None] * root[:, None, :])).min(axis=1)


@DTYPES
@pytest.mark.parametrize("psd", ["clip", "strict"])
def test_units_do_not_hide_an_indefinite_matrix(psd, dtype):
    S = np.array([[[1e8, 0, 0], [0, 1, 1.9], [0, 1.9, 1]]], dtype=dtype)
    with pytest.raises(
        ValueError, match=r"cov: sample 0 is not positive semidefinite: .* eigenvalue is -0\.9"
    ):
        svmgsu.Full(S, psd=psd)
    with pytest.raises(ValueError, match="packed: sample 0 is not positive semidefinite"):
        svmgsu.Full.from_packed(packed_of(S), check=True, psd=psd)
    with pytest.raises(ValueError, match="cov: sample 0 is not positive semidefinite"):
        svmgsu.Shared(S[0], psd=psd)
    with pytest.raises(ValueError, match="cov: sample 0 is not positive semidefinite"):
        svmgsu.Gaussians(np.zeros((4, 3))).add_noise(S)


@DTYPES
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_what_rounding_of_its_own_numbers_makes_is_kept_bit_by_bit(scale, dtype):
    units = np.sqrt(scale) * (UNITS if dtype is np.float64 else np.ones(4))
    S = (rank_two() * units[:, None] * units).astype(dtype)
    S = (S + S.transpose(0, 2, 1)) / 2
    kept = svmgsu.Full(S, psd="strict")
    np.testing.assert_array_equal(kept.to_full(), S)
    np.testing.assert_array_equal(svmgsu.Full(S).packed, kept.packed)


@pytest.mark.parametrize("units", [np.ones(4), UNITS])
def test_six_digits_are_projected_onto_the_nearest_that_is_semidefinite(units):
    S = rounded(rank_two() * units[:, None] * units)
    S[3] = np.diag(units**2)
    off = lowest(S) < -4e-9
    assert 10 < off.sum() < 30 and lowest(S).min() > -1e-4
    message = (
        f"cov: {off.sum()} of 30 covariances are not positive semidefinite: .* down to {lowest(S).min():.2g}"
    )
    with pytest.warns(UserWarning, match=message):
        clipped = svmgsu.Full(S)
    with pytest.raises(ValueError, match=f"cov: sample {off.argmax()} is not positive semidefinite"):
        svmgsu.Full(S, psd="strict")
    full = clipped.to_full()
    np.testing.assert_array_equal(full[~off], S[~off])
    assert lowest(full).min() > -1e-14
    root = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
    values, vectors = np.linalg.eigh(S / (root[:, :, None] * root[:, None, :]))
    nearest = (vectors * np.maximum(values, 0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    np.testing.assert_allclose(full / (root[:, :, None] * root[:, None, :]), nearest, rtol=0, atol=1e-13)
    svmgsu.Full(full, psd="strict")  # once is enough


def test_beyond_the_tolerance_is_an_error_that_names_the_example():
    S = rounded(rank_two())
    S[17] = rounded(rank_two())[17] - 1e-2 * np.eye(4)
    with pytest.raises(
        ValueError, match=r"cov: sample 17 is not positive semidefinite: its smallest eigenvalue is -0\.01"
    ):
        svmgsu.Full(S)


def test_triangles_in_a_file_are_checked(tmp_path):
    np.savez(tmp_path / "a.npz", mean=np.zeros((2, 2)), packed=[[1.0, 0.0, 1.0], [1.0, 2.0, 1.0]])
    with pytest.raises(svmgsu.io.FormatError, match=r"a\.npz: packed: sample 1 is not positive semidefinite"):
        svmgsu.io.read(tmp_path / "a.npz")


def test_train_projects_and_gaussians_take_the_choice():
    S, X, y = rounded(rank_two()), np.random.default_rng(1).normal(size=(30, 4)), np.arange(30) % 2
    with pytest.warns(UserWarning, match="were projected"):
        svmgsu.train(X, y, S, probability=False)
    with pytest.raises(ValueError, match=r"not positive semidefinite.*psd=.clip"):
        svmgsu.Gaussians(X, S, psd="strict")
    with pytest.raises(ValueError, match='psd: expected "clip" or "strict", got \'no\''):
        svmgsu.Gaussians(X, S, psd="no")


def text_files(folder, S):
    (folder / "mean.dat").write_text("".join(f"d{i} 1:{i % 2} 4:{i}\n" for i in range(len(S))))
    (folder / "labels.dat").write_text("".join(f"d{i} {2 * (i % 2) - 1}\n" for i in range(len(S))))
    upper = list(zip(*np.triu_indices(S.shape[1]), strict=True))
    lines = (
        f"d{i} " + " ".join(f"{a + 1},{b + 1}:{s[a, b]:.6g}" for a, b in upper) + "\n"
        for i, s in enumerate(S)
    )
    (folder / "cov.dat").write_text("".join(lines))
    return [str(folder / f"{name}.dat") for name in ("mean", "labels", "cov")]


def test_files_with_six_digits_are_read(tmp_path):
    S = rank_two()
    files = text_files(tmp_path, S)
    with pytest.warns(UserWarning, match=r"cov\.dat: \d+ of 30 covariances .* were projected") as warned:
        data, _ = svmgsu.io.read_text(*files)
    assert len(warned) == 1
    np.testing.assert_allclose(data.cov.to_full(), S, rtol=0, atol=1e-4 * S.max())
    with pytest.raises(
        svmgsu.io.FormatError, match=r"cov\.dat:\d+: the covariance of 'd\d+' is not positive"
    ):
        svmgsu.io.read(*files, psd="strict")
    for arrays in ({"cov": rounded(S)}, {"packed": packed_of(rounded(S))}):
        file = io.BytesIO()
        np.savez(file, mean=np.zeros((30, 4)), **arrays)
        file.seek(0)
        with pytest.warns(UserWarning, match="were projected"):
            svmgsu.io.read(file, format="npz")
        file.seek(0)
        with pytest.raises(svmgsu.io.FormatError, match="not positive semidefinite"):
            svmgsu.io.read(file, format="npz", psd="strict")


@pytest.mark.parametrize("n", (1, 2, 7, 8, 9, 17))
@pytest.mark.parametrize("dtype", (np.float64, np.float32))
def test_of_any_size_the_indefinite_one_is_found_and_no_other(n, dtype):
    rng = np.random.default_rng(n)
    S = rng.normal(size=(30, n, n + 2))
    unit = 10 ** rng.uniform(-3, 3, size=(30, n))
    S = (S @ S.transpose(0, 2, 1)) * unit[:, :, None] * unit[:, None]
    S[4] = 0.0
    S[5, n // 2] = S[5, :, n // 2] = 0.0  # a feature that is certain
    S[20] -= (lowest(S[20:21])[0] + 0.01) * np.diag(np.diag(S[20]))
    S = S.astype(dtype)
    with pytest.raises(ValueError, match="cov: sample 20 is not positive semidefinite"):
        svmgsu.Full(S)
    S[20] = 0.0
    svmgsu.Full(S, psd="strict")
