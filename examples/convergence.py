"""How far from the optimum?
=========================

Even against odd digits of scikit-learn, which may be shifted. Every iteration of the exact solver, newton,
has a proven bound of its distance to the optimum; training stops when this gap is a millionth of the
objective. The same bound shows how far the paper's stochastic solver, sgd, has come after each number of
steps. The gap of sgd's own result is larger, because the bound is tight only near the optimum.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import svmgsu
from svmgsu.plot import BLUE, GREEN, VERMILLION
from svmgsu.uncertainty import from_images

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="convergence.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

digits = load_digits()
data, y = from_images(digits.images / 16, shift=0.5), digits.target % 2
options = {"lam": 1e-3, "probability": False, "threads": 1}

newton = svmgsu.train(data, y, **options)
least = newton.objective_ - newton.gap_  # no classifier has a smaller objective
seconds, gap = np.array([(record["seconds"], record["gap"]) for record in newton.history_]).T
print(f"newton: objective {newton.objective_:.8f}, proven gap {newton.gap_:.0e}, {1000 * seconds[-1]:.0f} ms")

sgd = [svmgsu.SGDSVMGSU(n_steps=T, **options).fit(data, y).model_ for T in 100 * 2 ** np.arange(11)]
time = np.array([model.history_[-1]["seconds"] for model in sgd])
above = np.array([model.objective_ for model in sgd]) - least
for j in (0, -1):
    print(f"sgd: within {above[j]:.0e} of the optimum after {1000 * time[j]:.0f} ms")

figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.2), layout="constrained")
svmgsu.plot.convergence(newton, left)
right.plot(1000 * seconds, gap, color=VERMILLION, marker="s", markersize=4, label="newton: proven gap")
right.plot(
    1000 * time, above, "--", color=BLUE, marker="o", markersize=5, label="sgd: distance to newton's bound"
)
right.plot(1000 * time, [m.gap_ for m in sgd], ":", color=GREEN, marker="^", label="sgd: its own gap")
right.set(
    xscale="log", yscale="log", xlabel="time, ms (logarithmic)", ylabel="distance to the optimum, at most"
)
right.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False, fontsize=9)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=130)
