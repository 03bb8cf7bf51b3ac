"""Shifted images
==============

To first order, a shifted image is the image plus a multiple of its gradient. So a digit with random shifts is
a Gaussian of rank two. Trained on these Gaussians, a linear model reads shifted digits better and loses
nothing on others. At a whole pixel, the first order no longer describes strokes two pixels wide.

.. image:: /images/images.png
"""

# sphinx_gallery_thumbnail_path = "images/images.png"

import argparse
import itertools

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import shift
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedShuffleSplit

import svmgsu
from svmgsu.plot import BLUE, GREY
from svmgsu.uncertainty import from_images

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="images.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

digits = load_digits()
images, y = digits.images / 16, digits.target
sizes, angles = np.linspace(0, 1, 6), np.radians(np.arange(0, 360, 45))
moved = [
    [shift(images, (0, size * np.sin(a), size * np.cos(a)), order=1).reshape(len(y), -1) for a in angles]
    for size in sizes
]
accuracy = {"SVM": [], "SVM-GSU": []}
models = {}
for known, new in StratifiedShuffleSplit(4, test_size=0.5, random_state=0).split(images, y):
    data = from_images(images[known], shift=0.5)  # deviations of half a pixel, down and to the right
    for name, factor in (("SVM", 0), ("SVM-GSU", 1)):
        # A factor of 0 trains the ordinary SVM, but λ is still chosen for digits that may be shifted.
        search = svmgsu.LinearSVMGSU(
            np.logspace(-2, -4, 5), cov_scale=[factor], probability="train", tol=0.0001
        )
        model = models[name] = search.fit(data, y[known])
        right = [[np.mean(model.predict(x[new]) == y[new]) for x in several] for several in moved]
        accuracy[name].append(100 * np.mean(right, axis=1))

gain = np.subtract(accuracy["SVM-GSU"], accuracy["SVM"])
for j, size in enumerate(sizes):
    svm, gsu = (np.mean(accuracy[name], axis=0)[j] for name in models)
    error = gain[:, j].std(ddof=1) / np.sqrt(len(gain))
    print(
        f"shift {size:.1f}: SVM {svm:.1f} %, SVM-GSU {gsu:.1f} %, gain {gain[:, j].mean():+.1f} ± {error:.1f}"
    )

pair = list(itertools.combinations(range(10), 2)).index((3, 8))
figure, axes = plt.subplots(1, 3, figsize=(11.8, 3.6), layout="constrained", width_ratios=(1.3, 1, 1))
figure.get_layout_engine().set(wspace=0.06)
for name, style, ax in (("SVM", "s--", axes[1]), ("SVM-GSU", "o-", axes[2])):
    colour = GREY if name == "SVM" else BLUE
    axes[0].plot(sizes, np.mean(accuracy[name], axis=0), style, color=colour, label=name)
    weights = -models[name].coef_[pair].reshape(8, 8)
    largest = np.abs(weights).max()
    ax.imshow(weights, cmap="RdBu_r", vmin=-largest, vmax=largest)
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"weights of 3 against 8, {name}", fontsize=11)
axes[0].set(xlabel="shift, pixels (mean over eight directions)", ylabel="accuracy on new digits, %")
axes[0].legend(frameon=False)
axes[0].spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=130)
