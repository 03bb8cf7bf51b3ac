"""Images that might have been shifted, turned or blurred a little: tangents as low-rank covariances."""

from __future__ import annotations

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
    h, w = pixels.shape[1:3]
    down, right = np.meshgrid(np.arange(h) - (h - 1) / 2, np.arange(w) - (w - 1) / 2, indexing="ij")
    turn, slant = np.radians(rotation), np.radians(shear)
    # How far each pixel's content moves, (down, right), for one standard deviation of each transformation.
    moves = [np.broadcast_to(row[:, None, None], (2, h, w)) for row in _shift_root(shift)]
    moves += [np.stack([-turn * right, turn * down]), np.stack([scale * down, scale * right])]
    moves += [np.stack([0 * down, -slant * down])]
    moves = [move for move in moves if move.any()]
    rank = len(moves) + (brightness > 0) + (blur > 0)
    if not rank:
        known = ", ".join(("shift", *sizes))
        raise ValueError(f"shift: no transformation has a deviation above zero; give one of {known}")
    count, n = means.shape
    factors = np.empty((count, rank, n), dtype=pixels.dtype)
    channels = (1,) * (pixels.ndim - 3)
    for rows in blocks(count, TEMPORARIES * n):
        f = pixels[rows]
        gradient = np.gradient(f, axis=(1, 2))
        tangents = []
        for move in moves:
            v, u = move.astype(f.dtype).reshape(2, h, w, *channels)
            tangents.append(-(v * gradient[0] + u * gradient[1]))
        if brightness:
            tangents.append(np.full_like(f, brightness))
        if blur:
            tangents.append(0.5 * float(blur) ** 2 * _laplacian(f))
        factors[rows] = np.stack(tangents, axis=1).reshape(len(f), rank, n)
    return Gaussians(means, LowRank(factors))


def _laplacian(f: Array) -> Array:
    """Return second differences of images; the border is continued by its own pixels."""
    down, right = np.diff(f, axis=1), np.diff(f, axis=2)
    out = np.zeros_like(f)
    out[:, :-1] += down
    out[:, 1:] -= down
    out[:, :, :-1] += right
    out[:, :, 1:] -= right
    return out


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
