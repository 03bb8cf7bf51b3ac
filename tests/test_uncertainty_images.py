"""Images under small transformations."""

import tracemalloc

import numpy as np
import pytest
import scipy.ndimage
from moments import assert_moments

import svmgsu
from svmgsu.uncertainty import from_images

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


def test_the_images_are_used_where_they_lie_and_left_as_they_are():
    images = np.random.default_rng(0).uniform(size=(4, 6, 5))
    kept = images.copy()
    images.flags.writeable = False
    assert np.shares_memory(from_images(images, shift=1.0).mean, images)
    np.testing.assert_array_equal(images, kept)
    turned = np.asfortranarray(images)
    np.testing.assert_array_equal(from_images(turned, shift=1.0).mean, images.reshape(4, -1))


def test_memory_is_that_of_the_factors():
    """784 x 784 matrices of these 2000 images would take 4.9 GB; the factors take 19 MB."""
    images = np.random.default_rng(0).uniform(size=(2000, 28, 28)).astype(np.float32)
    tracemalloc.start()
    data = from_images(images, shift=1.0, rotation=5.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    factors = data.cov.factors.nbytes
    assert factors == 2000 * 3 * 784 * 4
    assert peak < factors + 8e6  # some temporaries of a block, whatever the number of images
