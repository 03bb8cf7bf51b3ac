"""Images that might have been shifted, turned or blurred a little: tangents as low-rank covariances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..data.covariances import LowRank
from ..data.gaussians import Gaussians
from ..support.arrays import blocks
from ..support.validation import Array, ArrayLike, FloatArray, as_float_array, check_finite

TEMPORARIES = 16  # images' worth of numbers a block may use: blocks of a few hundred digits fit the cache


def from_images(
    images: ArrayLike,
    *,
    shift: ArrayLike = 0.0,
    rotation: float = 0.0,
    scale: float = 0.0,
    shear: float = 0.0,
    brightness: float = 0.0,
    blur: float = 0.0,
) -> Gaussians:
    """Describe images under small random transformations, to first order (the paper's Appendix B, extended).

    Model: f(t) ≈ f(0) + Σ_k t_k ∂f/∂t_k with independent t_k ~ N(0, s_k²). So the image is a Gaussian whose
    covariance has one factor s_k ∂f/∂t_k for each transformation. The derivatives are differences of
    neighbouring pixels; beyond its border an image goes on as before.

    Assumes that transformations are small against the details of the image. Strokes of two pixels do not
    look like a tangent any more when shifted by three: the covariance then covers images that never
    come, which harms. `from_augmentation` simulates instead.

    Parameters
    ----------
    images : array of shape (l, h, w) or (l, h, w, c)
        Pixels become features in the order of `images.reshape(l, -1)`. Whole numbers become float64: pass
        float32 to halve the memory.
    shift : number, pair (vertical, horizontal) or (2, 2) covariance, default=0
        Standard deviation in pixels, or the paper's Σ_t in squared pixels.
    rotation : float, default=0
        Standard deviation in degrees, about the centre of the image.
    scale : float, default=0
        Standard deviation of the relative size: 0.1 is ten percent.
    shear : float, default=0
        Standard deviation of the slant in degrees.
    brightness : float, default=0
        Standard deviation of a number added to all pixels, in units of the pixels.
    blur : float, default=0
        A deviation of one is a Gaussian blur of this many pixels, (blur²/2) Δf; minus one sharpens.

    Returns
    -------
    Gaussians
        With `LowRank` covariances of factors (l, r, n); float32 if the images are.

    Examples
    --------
    >>> import numpy as np
    >>> from svmgsu.uncertainty import from_images
    >>> ramp = np.tile(np.arange(4.0), (1, 3, 1))  # brighter by one for each pixel to the right
    >>> data = from_images(ramp, shift=0.5)
    >>> data.shape, len(data.cov.factors)
    ((1, 12), 2)
    >>> np.allclose(data.cov.to_full(), 0.25)  # all pixels vary together
    True
    """
    pixels = as_float_array(images, "images", (3, 4))
    if 0 in pixels.shape:
        raise ValueError(f"images: expected at least one image of at least one pixel, got {pixels.shape}")
    if min(pixels.shape[1:3]) < 2:
        raise ValueError(f"images: gradients need 2 by 2 pixels or more, got {pixels.shape[1:3]}")
    means = pixels.reshape(len(pixels), -1)
    check_finite(means, "images")
    sizes = {"rotation": rotation, "scale": scale, "shear": shear, "brightness": brightness, "blur": blur}
    for name, size in sizes.items():
        if not np.isfinite(as_float_array(size, name, (0,))):
            raise ValueError(f"{name}: must be finite, got {size!r}")
        if size < 0:
            raise ValueError(f"{name}: a standard deviation must be >= 0, got {size:g}")
    tangents = _tangents(pixels.shape[1], pixels.shape[2], _shift_root(shift), sizes)
    if not tangents:
        known = ", ".join(("shift", *sizes))
        raise ValueError(f"shift: no transformation has a deviation above zero; give one of {known}")
    count, n = means.shape
    factors = np.empty((count, len(tangents), n), dtype=pixels.dtype)
    for rows in blocks(count, TEMPORARIES * n):
        gradient = _Gradient(pixels[rows])
        for k, tangent in enumerate(tangents):
            factors[rows, k] = tangent(gradient).reshape(-1, n)
    return Gaussians(means, LowRank(factors))


class _Gradient:
    """A block of images with their derivatives down (y) and to the right (x)."""

    def __init__(self, f: Array) -> None:
        self.f = f
        self.y, self.x = np.gradient(f, axis=(1, 2))

    def along(self, v: FloatArray, u: FloatArray) -> Array:
        """Return ∂f/∂t where the content moves by t·(v down, u right): −v ∂f/∂y − u ∂f/∂x."""
        tail = (1,) * (self.f.ndim - 3)
        down, right = (a.astype(self.f.dtype).reshape(a.shape + tail) for a in (v, u))
        return np.asarray(-(down * self.y + right * self.x))

    def laplacian(self) -> Array:
        """Return second differences; the border is continued by its own pixels."""
        down, right = np.diff(self.f, axis=1), np.diff(self.f, axis=2)
        out = np.zeros_like(self.f)
        out[:, :-1] += down
        out[:, 1:] -= down
        out[:, :, :-1] += right
        out[:, :, 1:] -= right
        return out


def _tangents(
    h: int, w: int, shifts: FloatArray, sizes: dict[str, float]
) -> list[Callable[[_Gradient], Array]]:
    """Return, for each deviation above 0, the derivative of an image times that deviation."""
    y, x = np.meshgrid(np.arange(h) - (h - 1) / 2, np.arange(w) - (w - 1) / 2, indexing="ij")
    one = np.ones((h, w))
    turn = np.radians(sizes["rotation"])
    slant = np.radians(sizes["shear"])
    found: list[Callable[[_Gradient], Array]] = [
        lambda g, row=row: g.along(row[0] * one, row[1] * one)  # type: ignore[misc]
        for row in shifts
        if row.any()
    ]
    if turn:
        found.append(lambda g: g.along(-turn * x, turn * y))
    if sizes["scale"]:
        found.append(lambda g: g.along(sizes["scale"] * y, sizes["scale"] * x))
    if slant:
        found.append(lambda g: g.along(0 * y, -slant * y))
    if sizes["brightness"]:
        found.append(lambda g: np.full_like(g.f, sizes["brightness"]))
    if sizes["blur"]:
        found.append(lambda g: 0.5 * float(sizes["blur"]) ** 2 * g.laplacian())
    return found


def _shift_root(shift: ArrayLike) -> FloatArray:
    """Return R with RᵀR = Σ_t."""
    array = as_float_array(shift, "shift", (0, 1, 2)).astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"shift: must be finite, got {shift!r}")
    if array.shape in ((), (2,)):
        if (array < 0).any():
            raise ValueError(f"shift: a standard deviation must be >= 0, got {shift!r}")
        return np.diag(np.broadcast_to(array, 2))
    if array.shape != (2, 2) or not np.allclose(array, array.T):
        raise ValueError(f"shift: expected a number, a pair or a symmetric (2, 2) covariance, got {shift!r}")
    values, vectors = np.linalg.eigh(array)
    if values[0] < -1e-12 * abs(values[1]):
        raise ValueError(f"shift: the covariance is not positive semidefinite, its eigenvalues are {values}")
    return np.asarray(np.sqrt(np.maximum(values, 0))[:, None] * vectors.T)
