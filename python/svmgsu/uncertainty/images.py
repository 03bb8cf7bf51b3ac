"""Images that might have been shifted, turned or blurred a little: tangents as low-rank covariances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..data.covariances import LowRank
from ..data.gaussians import Gaussians
from ..support.arrays import blocks
from ..support.validation import Array, ArrayLike, FloatArray, as_float_array, check_finite

TEMPORARIES = 16  # images' worth of numbers a block may use: blocks of a few hundred digits fit the cache
GENERATORS = ("shift", "rotation", "scale", "shear", "brightness", "blur")


def from_images(
    images: ArrayLike,
    *,
    shift: ArrayLike = 0.0,
    rotation: float = 0.0,
    scale: float = 0.0,
    shear: float = 0.0,
    brightness: float = 0.0,
    blur: float = 0.0,
    mean: Mapping[str, ArrayLike] | None = None,
) -> Gaussians:
    """Describe images under small random transformations, to first order (the paper's Appendix B, extended).

    Model: f(t) ≈ f(0) + Σ_k t_k ∂f/∂t_k with independent t_k ~ N(m_k, s_k²). So the image is a Gaussian of
    mean f(0) + Σ m_k ∂f/∂t_k, and of a covariance with one factor s_k ∂f/∂t_k for each transformation. The
    derivatives are differences of neighbouring pixels; beyond its border an image goes on as before.

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
    mean : dict, optional
        Means m_k that are not zero, in the same units: {"shift": (0.5, 0), "rotation": 2}. Positive is
        down and right, counter-clockwise, larger, with the top slanted to the right, brighter, blurred.

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
    >>> from_images(ramp, shift=0.5, mean={"shift": (0, 1)}).mean[0, :4]
    array([-1.,  0.,  1.,  2.])
    """
    pixels = as_float_array(images, "images", (3, 4))
    if 0 in pixels.shape:
        raise ValueError(f"images: expected at least one image of at least one pixel, got {pixels.shape}")
    if min(pixels.shape[1:3]) < 2:
        raise ValueError(f"images: gradients need 2 by 2 pixels or more, got {pixels.shape[1:3]}")
    check_finite(pixels.reshape(len(pixels), -1), "images")
    given = dict(zip(GENERATORS, (shift, rotation, scale, shear, brightness, blur), strict=True))
    combine = _deviation_matrix(given)
    moved = _means(mean or {})
    if len(combine) == 0:
        raise ValueError(f"shift: no transformation has a deviation above zero; give one of {GENERATORS}")
    count = len(pixels)
    n = int(np.prod(pixels.shape[1:]))
    factors = np.empty((count, len(combine), n), dtype=pixels.dtype)
    means = pixels.reshape(count, n)
    if moved.any():
        means = means.copy()
    tangents = _tangents(pixels.shape[1], pixels.shape[2])
    for rows in blocks(count, TEMPORARIES * n):
        block = _Gradient(pixels[rows])
        out = factors[rows]
        for k, tangent in enumerate(tangents):
            rooms = np.flatnonzero(combine[:, k])
            if len(rooms) == 0 and moved[k] == 0:
                continue
            T = tangent(block).reshape(-1, n)
            for r in rooms:
                if combine[r, :k].any():
                    out[:, r] += float(combine[r, k]) * T
                else:
                    np.multiply(T, float(combine[r, k]), out=out[:, r])
            if moved[k] != 0:
                means[rows] += float(moved[k]) * T
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


def _tangents(h: int, w: int) -> tuple[Callable[[_Gradient], Array], ...]:
    """Return derivatives by vertical, horizontal, radian, log size, slant, brightness, blurred variance."""
    y, x = np.meshgrid(np.arange(h) - (h - 1) / 2, np.arange(w) - (w - 1) / 2, indexing="ij")
    one, none = np.ones((h, w)), np.zeros((h, w))
    return (
        lambda g: g.along(one, none),
        lambda g: g.along(none, one),
        lambda g: g.along(-x, y),
        lambda g: g.along(y, x),
        lambda g: g.along(none, -y),
        lambda g: np.ones_like(g.f),
        lambda g: 0.5 * g.laplacian(),
    )


def _deviation_matrix(given: dict[str, ArrayLike]) -> FloatArray:
    """Return rows that turn the seven tangents into factors, one for each deviation above 0."""
    rows = [np.append(root, np.zeros(5)) for root in _shift_root(given["shift"])]
    for k, name in enumerate(GENERATORS[1:]):
        size = _number(given[name], name)
        if size < 0:
            raise ValueError(f"{name}: a standard deviation must be >= 0, got {size:g}")
        row = np.zeros(7)
        row[2 + k] = _in_tangent_units(name, size)
        rows.append(row)
    kept = [row for row in rows if row.any()]
    return np.array(kept).reshape(len(kept), 7)


def _in_tangent_units(name: str, value: float) -> float:
    if name in ("rotation", "shear"):
        return float(np.radians(value))
    return value * abs(value) if name == "blur" else value  # a mean below zero sharpens


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


def _means(mean: Mapping[str, ArrayLike]) -> FloatArray:
    unknown = set(mean) - set(GENERATORS)
    if unknown:
        raise ValueError(f"mean: unknown {sorted(unknown)}; expected some of {GENERATORS}")
    out = np.zeros(7)
    if "shift" in mean:
        pair = as_float_array(mean["shift"], 'mean["shift"]', (0, 1)).astype(np.float64)
        if pair.shape not in ((), (2,)) or not np.isfinite(pair).all():
            raise ValueError(f'mean["shift"]: expected (vertical, horizontal) pixels, got {mean["shift"]!r}')
        out[:2] = pair
    for k, name in enumerate(GENERATORS[1:]):
        if name in mean:
            out[2 + k] = _in_tangent_units(name, _number(mean[name], f'mean["{name}"]'))
    return out


def _number(value: Any, name: str) -> float:
    array = as_float_array(value, name, (0,))
    if not np.isfinite(array):
        raise ValueError(f"{name}: must be finite, got {value!r}")
    return float(array)
