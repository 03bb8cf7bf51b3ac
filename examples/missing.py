"""Missing values
==============

Wisconsin's breast cancer table (30 features) loses 30 % of its values at random, in training and in use.
``from_missing`` gives every missing value its mean and covariance given the rest of the sample. Four ways are
compared on the same 30 random halves. Most is gained by the conditional mean; the covariance adds little, and
column means with column variances gain nothing.

.. image:: /images/missing.png
"""

# sphinx_gallery_thumbnail_path = "images/missing.png"

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedShuffleSplit

import svmgsu
from svmgsu.plot import BLUE, GREY
from svmgsu.uncertainty import from_missing

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="missing.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

X, y = load_breast_cancer(return_X_y=True)
rng = np.random.default_rng(0)
ways = (
    "column mean, SVM",
    "column mean and variance, SVM-GSU",
    "conditional mean, SVM",
    "conditional Gaussian, SVM-GSU",
)
accuracy = np.zeros((30, len(ways)))
for k, (known, new) in enumerate(StratifiedShuffleSplit(30, test_size=0.5, random_state=0).split(X, y)):
    incomplete = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    table = (incomplete - np.nanmean(incomplete[known], axis=0)) / np.nanstd(incomplete[known], axis=0)
    gaps = np.isnan(table)
    column = svmgsu.Gaussians(np.where(gaps, 0.0, table), std=1.0 * gaps)
    conditional = from_missing(table, svmgsu.Deconvolution(1, reg_covar=0.05).fit(table[known]))
    for j, data in enumerate((column.with_cov(None), column, conditional.with_cov(None), conditional)):
        search = svmgsu.LinearSVMGSU(np.logspace(-1, -4, 7), probability=False)
        search.fit(data[known], y[known])
        accuracy[k, j] = 100 * search.score(data[new], y[new])

gain = accuracy - accuracy[:, :1]
error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
for j, way in enumerate(ways):
    print(f"{way}: {accuracy[:, j].mean():.2f} %, gain {gain[:, j].mean():+.2f} ± {error[j]:.2f}")
last = accuracy[:, 3] - accuracy[:, 2]
print(f"the covariance alone: {last.mean():+.2f} ± {last.std(ddof=1) / np.sqrt(len(last)):.2f}")

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for j, colour in enumerate((GREY, BLUE, GREY, BLUE)):
    ax.plot(accuracy[:, j], j + rng.uniform(-0.16, 0.16, 30), "o", color=colour, alpha=0.3, markersize=4)
    ax.plot(accuracy[:, j].mean(), j, "D", color=colour, markersize=9, markeredgecolor="white")
    ax.text(accuracy[:, j].mean(), j - 0.28, f"{accuracy[:, j].mean():.1f} %", ha="center", fontsize=9)
ax.set_yticks(range(len(ways)), [way.replace(", ", ",\n") for way in ways])
ax.set(xlabel="accuracy, % (a dot is a random half)", ylim=(3.5, -0.6))
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=150)
