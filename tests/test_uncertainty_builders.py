"""Error bars and standard errors."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.ndimage
import scipy.signal
from moments import assert_moments

import svmgsu
from svmgsu.uncertainty import (
    DEAP_BANDS,
    DEAP_PAIRS,
    from_augmentation,
    from_errors,
    from_images,
    from_repeats,
    from_welch,
)

X = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 50.0]])


def variances(data):
    return data.cov.variances


@pytest.mark.parametrize(
    ("std", "wanted"),
    [
        (0.5, np.full((3, 2), 0.25)),
        ([0.1, 2.0], [[0.01, 4.0]] * 3),
        ([1.0, 2.0, 3.0], [[1, 1], [4, 4], [9, 9]]),
        ([[1.0], [2.0], [3.0]], [[1, 1], [4, 4], [9, 9]]),
        (X / 10, (X / 10) ** 2),
    ],
)
def test_bars_are_for_all_a_feature_an_example_or_a_value(std, wanted):
    data = from_errors(X, std)
    assert isinstance(data.cov, svmgsu.Diagonal)
    np.testing.assert_allclose(variances(data), wanted)
    np.testing.assert_array_equal(data.mean, X)


@pytest.mark.parametrize("centre", ["median", "mode"])
def test_asymmetric_bars_have_the_moments_of_two_half_normals(centre):
    up, down = np.array([2.0, 0.3]), np.array([0.5, 0.4])
    data = from_errors(X[:1], upper=up[None], lower=down[None], centre=centre)
    rng = np.random.default_rng(0)
    above = rng.uniform(size=(200_000, 2)) < (0.5 if centre == "median" else up / (up + down))
    z = np.abs(rng.normal(size=above.shape))
    draws = X[0] + np.where(above, up * z, -down * z)
    assert_moments(draws, data.mean[0], variances(data)[0])


def test_symmetric_bars_are_the_special_case_and_a_minus_sign_is_forgiven():
    for centre in ("median", "mode"):
        both = from_errors(X, upper=0.5, lower=-0.5, centre=centre)
        np.testing.assert_allclose(both.mean, X)
        np.testing.assert_allclose(variances(both), 0.25)
    with pytest.raises(ValueError, match="lower: sample 1 has standard deviation -1 at feature 0"):
        from_errors(X, upper=1.0, lower=[[1.0], [-1.0], [1.0]])


def test_linear_errors_of_logarithms():
    """By hand: log10 of 100 ± 10 has the deviation 10/(100 ln 10) = 0.0434294."""
    data = from_errors(np.log10([[100.0]]), 10.0, units="linear of log10")
    assert np.sqrt(variances(data)[0, 0]) == pytest.approx(0.04342945)
    draws = np.log10(100 + np.random.default_rng(0).normal(scale=1.0, size=(100_000, 1)))
    small = from_errors(np.log10([[100.0]]), 1.0, units="linear of log10")
    assert_moments(draws, small.mean[0], variances(small)[0], slack=0.01)  # σ/x = 1 %: second order
    natural = from_errors(np.log([[100.0]]), 10.0, units="linear of log")
    assert np.sqrt(variances(natural)[0, 0]) == pytest.approx(0.1)
    relative = from_errors([[-100.0]], 0.02, units="relative")
    assert np.sqrt(variances(relative)[0, 0]) == pytest.approx(2.0)


def test_a_floor_raises_short_bars():
    bars = np.array([[0.0, 0.2], [0.5, 0.0], [0.3, 0.1]])
    np.testing.assert_allclose(np.sqrt(variances(from_errors(X, bars, floor=0.15))), np.maximum(bars, 0.15))
    by_feature = np.sqrt(variances(from_errors(X, bars, floor=[0.1, 0.4])))
    np.testing.assert_allclose(by_feature, np.maximum(bars, [0.1, 0.4]))
    smallest = np.sqrt(variances(from_errors(X, bars, floor="smallest")))
    np.testing.assert_allclose(smallest, [[0.3, 0.2], [0.5, 0.1], [0.3, 0.1]])
    assert not variances(from_errors(X, 0.0, floor="smallest")).any()


@pytest.mark.parametrize("argument", ["std", "upper", "lower"])
def test_bars_in_a_frame_of_another_order_are_refused(argument):
    frame = pd.DataFrame(X, columns=["a", "b"])
    bars = {argument: frame[["b", "a"]]}
    if argument in ("upper", "lower"):
        bars = {"upper": frame, "lower": frame} | bars
    with pytest.raises(ValueError, match=rf"{argument}: its columns are 'b', 'a', but those of X"):
        from_errors(frame, **bars)


KINDS = ("diagonal", "full", "lowrank")


def ragged(sizes=(2, 5, 9, 3), n=4, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(k, n)) @ rng.normal(size=(n, n)) + 5).astype(dtype) for k in sizes]


def wanted(groups, kind):
    full = [np.cov(g.T) for g in groups]
    return [np.diag(np.diag(S)) for S in full] if kind == "diagonal" else full


@pytest.mark.parametrize("kind", KINDS)
def test_covariances_are_those_of_numpy(kind):
    groups = ragged()
    data = from_repeats(groups, covariance=kind)
    np.testing.assert_allclose(data.mean, [g.mean(axis=0) for g in groups])
    np.testing.assert_allclose(data.cov.to_full(), wanted(groups, kind), rtol=1e-10, atol=1e-10)
    divided = from_repeats(groups, covariance=kind, of_mean=True).cov.to_full()
    sizes = np.array([len(g) for g in groups])
    np.testing.assert_allclose(divided * sizes[:, None, None], data.cov.to_full(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_group_ids_are_the_same_in_any_order(kind):
    groups = ragged()
    ids = np.repeat(["b", "d", "a", "c"], [len(g) for g in groups])
    rows = np.concatenate(groups)
    shuffled = np.random.default_rng(1).permutation(len(rows))
    listed = from_repeats([groups[i] for i in (2, 0, 3, 1)], covariance=kind)  # a, b, c, d
    grouped = from_repeats(rows[shuffled], ids[shuffled], covariance=kind)
    np.testing.assert_allclose(grouped.mean, listed.mean)
    np.testing.assert_allclose(grouped.cov.to_full(), listed.cov.to_full(), atol=1e-12)


def test_low_rank_has_as_many_factors_as_the_samples_determine():
    cov = from_repeats(ragged((2, 5, 9, 3)), covariance="lowrank").cov
    assert isinstance(cov, svmgsu.LowRank)
    np.testing.assert_array_equal(np.diff(cov.start), [1, 4, 4, 2])  # min(k − 1, n) with n = 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_sample_is_refused_or_gets_what_the_others_share(kind):
    groups = [*ragged(), np.ones((1, 4))]
    with pytest.raises(ValueError, match=r'repeats: sample 4 has one repeat.*single="pooled"'):
        from_repeats(groups, covariance=kind)
    data = from_repeats(groups, covariance=kind, single="pooled")
    D = np.concatenate([g - g.mean(axis=0) for g in groups])
    pooled = D.T @ D / sum(len(g) - 1 for g in groups)
    expected = pooled if kind == "full" else np.diag(np.diag(pooled))
    np.testing.assert_allclose(data.cov.to_full()[4], expected, atol=1e-10)
    np.testing.assert_allclose(
        data.cov.to_full()[:4], from_repeats(groups[:4], covariance=kind).cov.to_full()
    )


ROOT = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 0.1]])


def noise(x, rng):
    return x + rng.normal(size=3) @ ROOT


POINTS = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("draws", [5, 30])
def test_few_and_many_draws_give_the_covariance_of_numpy(draws):
    wide = np.random.default_rng(2).normal(size=(4, 12))
    seen = []

    def shake(x, rng):
        seen.append(x + rng.normal(size=12))
        return seen[-1]

    data = from_augmentation(wide, shake, n=draws, rank=min(draws - 1, 12))
    covariances = [np.cov(np.array(seen[draws * i : draws * (i + 1)]).T) for i in range(4)]
    np.testing.assert_allclose(data.cov.to_full(), covariances, atol=1e-10)


def test_by_default_eight_directions_are_kept_or_all():
    for features, draws, kept in ((3, 30, 3), (20, 30, 8), (20, 5, 4)):
        data = from_augmentation(np.ones((1, features)), lambda x, rng: x + rng.normal(size=x.shape), n=draws)
        assert len(data.cov.factors) == kept


def test_a_rank_keeps_the_largest_directions():
    everything = from_augmentation(POINTS, noise, n=30, rank=3)
    some = from_augmentation(POINTS, noise, n=30, rank=1)
    values, vectors = np.linalg.eigh(everything.cov.to_full())
    leading = values[:, -1, None, None] * vectors[:, :, -1:] @ vectors[:, :, -1:].transpose(0, 2, 1)
    np.testing.assert_allclose(some.cov.to_full(), leading, atol=1e-10)


def test_images_go_in_as_images_and_come_out_as_rows():
    images = np.random.default_rng(0).uniform(size=(5, 6, 7)).astype(np.float32)
    seen = set()

    def crop(image, rng):
        seen.add(image.shape)
        image *= 2  # a copy: the data stay
        return image[1:5, 1:6]

    kept = images.copy()
    data = from_augmentation(images, crop, n=4, rank=2)
    assert seen == {(6, 7)}
    assert data.shape == (5, 20)
    np.testing.assert_array_equal(images, kept)
    np.testing.assert_allclose(data.mean, 2 * images[:, 1:5, 1:6].reshape(5, -1))
    assert data.mean.dtype == data.cov.factors.dtype == np.float32
    assert not data.cov.factors.any()


FS = 128.0


def eeg(count=3, channels=4, time=1024, seed=0):
    return np.random.default_rng(seed).normal(size=(count, channels, time))


def log_powers(x, bands, nperseg=256, step=128):
    """Plainly: one window at a time, one band at a time; (windows, channels, bands)."""
    taper = scipy.signal.get_window("hann", nperseg)
    frequencies = np.fft.rfftfreq(nperseg, 1 / FS)
    rows = []
    for first in range(0, x.shape[1] - nperseg + 1, step):
        piece = x[:, first : first + nperseg]
        spectrum = np.abs(np.fft.rfft((piece - piece.mean(axis=1, keepdims=True)) * taper)) ** 2
        spectrum[:, 1:-1] *= 2  # one side stands for both
        density = spectrum / (FS * (taper**2).sum())
        rows.append(
            [
                [
                    np.log(d[(frequencies >= low) & (frequencies < high)].sum() * FS / nperseg)
                    for low, high in bands
                ]
                for d in density
            ]
        )
    return np.array(rows)


def test_mean_and_variance_over_the_windows():
    x = eeg()
    data = from_welch(x, FS)
    assert isinstance(data.cov, svmgsu.Diagonal)
    for i in range(3):
        powers = log_powers(x[i], DEAP_BANDS.values()).reshape(7, -1)
        np.testing.assert_allclose(data.mean[i], powers.mean(axis=0))
        np.testing.assert_allclose(data.cov.variances[i], powers.var(axis=0, ddof=1))


def test_the_power_is_that_of_a_sine():
    """By hand: amplitude 3 has the power 9/2, at 10 Hz: alpha, and none of its neighbours."""
    t = np.arange(2048) / FS
    rng = np.random.default_rng(0)
    x = 3 * np.sin(2 * np.pi * 10 * t) + 1e-6 * rng.normal(size=t.size)
    data = from_welch(x[None], FS, bands={"alpha": (8, 12), "beta": (12, 30)})
    assert data.mean[0, 0] == pytest.approx(np.log(4.5), abs=1e-6)
    assert data.mean[0, 1] < -20
    assert data.cov.variances[0, 0] < 1e-10


def test_the_bands_are_those_of_the_paper_and_electrodes_are_compared_with_their_mirror_images():
    assert list(DEAP_BANDS.values()) == [(4, 8), (8, 10), (8, 12), (12, 30), (30, np.inf)]
    left = "Fp1 AF3 F3 F7 FC5 FC1 C3 T7 CP5 CP1 P3 P7 PO3 O1 Oz Pz"
    names = f"{left} Fp2 AF4 Fz F4 F8 FC6 FC2 Cz C4 T8 CP6 CP2 P4 P8 PO4 O2".split()
    assert len(DEAP_PAIRS) == 14
    for one, other in DEAP_PAIRS:
        assert names[other] == names[one][:-1] + str(int(names[one][-1]) + 1)


def test_differences_are_right_minus_left_window_by_window():
    x = eeg()
    data = from_welch(x, FS, pairs=[(0, 1), (2, 3)], pair_bands=["beta", "theta"])
    powers = log_powers(x[1], DEAP_BANDS.values())
    apart = (powers[:, [1, 3]] - powers[:, [0, 2]])[:, :, [3, 0]].reshape(7, -1)
    np.testing.assert_allclose(data.mean[1, 20:], apart.mean(axis=0))
    np.testing.assert_allclose(data.cov.variances[1, 20:], apart.var(axis=0, ddof=1))
    assert from_welch(x, FS, pairs=[(0, 1)]).shape == (3, 25)


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.signal", None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"from_welch needs scipy: pip install 'svmgsu\[uncertainty\]'"):
        from_welch(eeg(), FS)


H, W = 25, 31
CENTRE = ((H - 1) / 2, (W - 1) / 2)


def blob(y, x):
    """A smooth, lopsided spot, as a function of the place relative to the centre of the image."""
    return np.exp(-((y - 1) ** 2) / 40 - (x + 2) ** 2 / 90 - x * y / 90) * (1 + 0.05 * x)


def moved(dy=0.0, dx=0.0, degrees=0.0, growth=0.0, slant=0.0):
    """The spot after its content was slanted, grown, turned (counter-clockwise) and shifted, exactly."""
    y, x = np.meshgrid(np.arange(H) - CENTRE[0], np.arange(W) - CENTRE[1], indexing="ij")
    y, x = y - dy, x - dx
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    y, x = c * y + s * x, -s * y + c * x
    y, x = y / (1 + growth), x / (1 + growth)
    return blob(y, x + np.tan(np.radians(slant)) * y)


IMAGE = moved()
ONE = {
    "rotation": (2.0, lambda t: moved(degrees=t)),
    "scale": (0.03, lambda t: moved(growth=t)),
    "shear": (2.0, lambda t: moved(slant=t)),
    "brightness": (0.1, lambda t: IMAGE + t),
}


def test_by_hand():
    """A slope of 2 a pixel to the right and 1 down: a shift of 0.5 pixels moves all pixels by 1 and 0.5."""
    ramp = np.arange(3)[:, None] + 2.0 * np.arange(4)
    data = from_images(ramp[None], shift=0.5)
    np.testing.assert_allclose(data.cov.to_full(), 0.25 * (1 + 4), atol=1e-12)
    np.testing.assert_array_equal(data.mean, ramp.reshape(1, -1))
    only_down = from_images(ramp[None], shift=(0.5, 0.0))
    assert only_down.cov.factors.shape == (1, 12)
    np.testing.assert_allclose(only_down.cov.to_full(), 0.25)
    np.testing.assert_allclose(from_images(ramp[None, :2, :2], shift=0.5).cov.to_full(), 0.25 * (1 + 4))


def test_the_papers_covariance_of_shifts_is_taken_whole():
    """Appendix B: Σ_X = ∇f Σ_t ∇fᵀ."""
    S = np.array([[0.5, 0.3], [0.3, 0.4]])
    gradient = np.stack(np.gradient(IMAGE), axis=-1).reshape(-1, 2)
    data = from_images(IMAGE[None], shift=S)
    np.testing.assert_allclose(data.cov.to_full()[0], gradient @ S @ gradient.T, atol=1e-12)


@pytest.mark.parametrize("name", ONE)
def test_the_tangent_is_the_derivative_of_the_transformation(name):
    std, transform = ONE[name]
    factor = from_images(IMAGE[None], **{name: std}).cov.factors[0].reshape(H, W)
    exact = std * (transform(1e-4) - transform(-1e-4)) / 2e-4
    # Differences of neighbouring pixels against true derivatives; at the border they are one-sided.
    inner = (slice(1, -1), slice(1, -1))
    assert np.abs(factor - exact)[inner].max() <= 0.03 * np.abs(exact).max()
    assert np.abs(factor - exact).max() <= 0.15 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("option", "transform"),
    [
        ({"shift": (0.3, 0.0)}, lambda f: scipy.ndimage.shift(f, (0.3, 0.0), mode="nearest")),
        ({"rotation": 2.0}, lambda f: scipy.ndimage.rotate(f, 2.0, reshape=False, mode="nearest")),
        ({"blur": 0.8}, lambda f: scipy.ndimage.gaussian_filter(f, 0.8, mode="nearest")),
    ],
)
def test_a_factor_is_the_change_by_the_transformation_of_scipy(option, transform):
    """The sign too: first order explains nine tenths of the change."""
    (factor,) = from_images(IMAGE[None], **option).cov.factors.reshape(-1, H, W)
    change = transform(IMAGE) - IMAGE
    inner = (slice(3, -3), slice(3, -3))
    assert np.abs(change - factor)[inner].max() < 0.1 * np.abs(change)[inner].max()


def test_moments_are_those_of_simulated_transformations():
    std = {"shift": 0.15, "rotation": 1.0, "scale": 0.01, "shear": 1.0, "brightness": 0.02}
    data = from_images(IMAGE[None], **std)
    assert len(data.cov.factors) == 6
    rng = np.random.default_rng(0)
    pixels = rng.choice(H * W, 10, replace=False)
    draws = []
    for dy, dx, degrees, growth, slant, bright in rng.normal(size=(4000, 6)):
        image = moved(0.15 * dy, 0.15 * dx, degrees, 0.01 * growth, slant) + 0.02 * bright
        draws.append(image.ravel()[pixels])
    cov = data.cov.to_full()[0][np.ix_(pixels, pixels)]
    assert_moments(draws, data.mean[0, pixels], cov, slack=0.05)  # second order and finite differences


def test_colour_is_transformed_channel_by_channel_and_together():
    colour = np.stack([IMAGE, 2 * IMAGE, 1 - IMAGE], axis=-1)
    data = from_images(np.stack([colour, colour[::-1]]), shift=0.5, rotation=3.0, blur=1.0, brightness=0.1)
    assert data.shape == (2, 3 * H * W)
    factors = data.cov.factors.reshape(2, 5, H, W, 3)
    grey = from_images(IMAGE[None], shift=0.5, rotation=3.0, blur=1.0, brightness=0.1)
    alone = grey.cov.factors.reshape(5, H, W)
    changing = [0, 1, 2, 4]
    np.testing.assert_allclose(factors[0, changing, :, :, 0], alone[changing], atol=1e-12)
    np.testing.assert_allclose(factors[0, changing, :, :, 1], 2 * alone[changing], atol=1e-12)
    np.testing.assert_allclose(factors[0, changing, :, :, 2], -alone[changing], atol=1e-12)
    np.testing.assert_allclose(factors[:, 3], 0.1)


def test_float32_stays_whole_numbers_become_float64_and_the_result_trains():
    images = np.random.default_rng(0).uniform(size=(6, 8, 9)).astype(np.float32)
    options = {"shift": 0.5, "rotation": 3.0, "scale": 0.1, "shear": 2.0, "brightness": 0.1, "blur": 0.5}
    data = from_images(images, **options)
    assert data.mean.dtype == data.cov.factors.dtype == np.float32
    double = from_images(images.astype(float), **options)
    np.testing.assert_allclose(data.cov.factors, double.cov.factors, atol=1e-5)
    assert from_images((255 * images).astype(np.uint8), shift=1).mean.dtype == np.float64
    assert np.isfinite(svmgsu.train(data, [0, 1] * 3, lam=0.1).coef_).all()
