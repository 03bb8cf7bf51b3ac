"""Probabilities of noisy samples
==============================

Even against odd digits of scikit-learn, learnt from good images. New images have noise of up to half the
range from black to white, different and known for each. Probabilities from the values alone stay confident
while the accuracy falls; ``predict_proba(X, std=)`` follows the accuracy. The predicted classes are the same.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import svmgsu
from svmgsu.plot import BLUE, GREEN

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="probabilities.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

digits = load_digits()
parity = np.array(["even", "odd"])[digits.target % 2]
known, new, y, z = train_test_split(
    digits.data / 16, parity, test_size=0.5, random_state=0, stratify=digits.target
)
model = svmgsu.LinearSVMGSU(np.logspace(0, -4, 9)).fit(known, y, std=0.05)

rng = np.random.default_rng(0)
noise = rng.uniform(0, 0.5, len(new))
seen = new + noise[:, np.newaxis] * rng.standard_normal(new.shape)
std = np.hypot(0.05, noise)  # what good photographs have, too
given = {"values alone": seen, "with uncertainties": svmgsu.Gaussians(seen, std=std)}
proba = {name: model.predict_proba(each) for name, each in given.items()}
right = model.predict(seen) == z
print(
    f"accuracy {100 * right.mean():.1f} %, of images without noise {100 * model.score(new, z, std=0.0):.1f} %"
)

figure, (left, side) = plt.subplots(1, 2, figsize=(10.2, 4.6), layout="constrained")
svmgsu.plot.reliability(model, given, z, left, class_="odd", bins=6)
left.set_aspect("equal")
group = np.minimum((noise * 10).astype(int), 4)  # five groups of images, by their noise


def by_noise(values):
    return [100 * values[group == k].mean() for k in range(5)]


side.plot(np.arange(5, 50, 10), by_noise(right), color="black", marker="o", linewidth=2.2, label="accuracy")
for (name, p), colour, dashes, marker in zip(proba.items(), (BLUE, GREEN), ("--", "-."), "s^", strict=True):
    sure = p.max(axis=1)
    print(f"{name}: log-loss {log_loss(z, p):.3f}, mean confidence {100 * sure.mean():.1f} %")
    label = f"confidence, {name}"
    side.plot(np.arange(5, 50, 10), by_noise(sure), dashes, color=colour, marker=marker, label=label)
side.set(xlabel="noise of the image, % of its range", ylabel="%", ylim=(50, 101), xlim=(0, 50))
side.legend(frameon=False, loc="lower left")
for ax in (left, side):
    ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=120)
