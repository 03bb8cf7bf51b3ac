"""The weights of a model of images, as an image."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..support.validation import check_count
from .style import DIVERGING, hyperplane, own_axes


def weights(model: Any, shape: Any, ax: Any = None, *, class_: Any = None, channel: int | None = None) -> Any:
    """Draws the weights w in the places of the pixels: where an image must be brighter for the class.

    Parameters
    ----------
    model : Model or LinearSVMGSU
    shape : (int, int) or (int, int, int)
        Height and width of the images (and channels, which come last).
    ax : matplotlib Axes, optional
    class_ : label, optional
        The class whose weights are drawn, needed if the model has more than two; or a pair of classes,
        the second positive, where it has a hyperplane for each pair ("ovo").
    channel : int, optional
        The channel of colour images to draw.

    Returns
    -------
    matplotlib Axes
        Its colours are symmetric around white, which is 0.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[0, 0, 1, 1.0], [1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 0, 0]]), [0, 0, 1, 1]
    >>> ax = svmgsu.plot.weights(svmgsu.train(X, y), (2, 2))
    >>> ax.images[0].get_array().shape
    (2, 2)
    """
    plane = hyperplane(model, class_)
    size = tuple(check_count(n, "shape") for n in shape)
    if len(size) not in (2, 3):
        raise ValueError(f"shape: expected (height, width) or (height, width, channels), got {size}")
    if math.prod(size) != len(plane.w):
        raise ValueError(
            f"shape: {size} has {math.prod(size)} pixels, but the model has {len(plane.w)} features"
        )
    image = plane.w.reshape(size)
    if len(size) == 3:
        if channel is None:
            raise ValueError(f"channel: the images have {size[2]}; choose one from 0 to {size[2] - 1}")
        image = image[:, :, check_count(channel, "channel", least=0, most=size[2] - 1)]
    ax = own_axes((4.8, 4.0)) if ax is None else ax
    largest = float(np.abs(image).max()) or 1.0
    shown = ax.imshow(image, cmap=DIVERGING, vmin=-largest, vmax=largest, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    negative, positive = plane.names
    ax.figure.colorbar(shown, ax=ax, shrink=0.85, label=f"weight: {negative}  ←  0  →  {positive}")
    return ax
