"""Signals by their spectrum
=========================

Two kinds of synthetic signals: an oscillation at about 9 or 11 Hz with a varying amplitude, under noise.
``from_welch`` makes each signal a Gaussian of log band powers that describes one window of a second. To
classify single windows, SVM-GSU is better than an SVM trained on the averages; for averages over whole
signals it gains nothing.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter
from sklearn.preprocessing import StandardScaler

import svmgsu
from svmgsu.uncertainty import from_welch

FS = 128  # samples a second
BANDS = {"theta": (4, 8), "low alpha": (8, 10), "high alpha": (10, 13), "beta": (13, 30), "gamma": (30, 64)}


def record(rng, signals, seconds=20):
    """Signals of four channels, of shape (signals, 4, time), and their kinds."""
    y = np.tile(["9 Hz", "11 Hz"], signals // 2)
    time = np.arange(seconds * FS) / FS
    rate = rng.normal(np.where(y == "9 Hz", 9, 11), 0.5)[:, np.newaxis, np.newaxis]
    strength = 0.5 * np.exp(rng.normal(size=(signals, 1, seconds))).repeat(FS, axis=2)  # new every second
    phase = rng.uniform(0, 2 * np.pi, (signals, 4, 1))
    noise = lfilter([1], [1, -0.9], rng.normal(size=(signals, 4, len(time))))
    return strength * np.sin(2 * np.pi * rate * time + phase) + noise, y


parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="signals.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

rng = np.random.default_rng(0)
(known, y), (new, z) = record(rng, 120), record(rng, 400)
scaler = svmgsu.Propagate(StandardScaler())
data = scaler.fit_transform(from_welch(known, FS, bands=BANDS, nperseg=FS, covariance="full"))
test = scaler.transform(from_welch(new, FS, bands=BANDS, nperseg=FS, covariance="full"))
print(data)

figure, axes = plt.subplots(1, 2, figsize=(10.4, 3.9), layout="constrained", sharey=True)
for ax, name, factor in zip(axes, ("SVM on averages", "SVM-GSU"), (0, 1), strict=True):
    model = svmgsu.LinearSVMGSU(np.logspace(1, -3, 9), cov_scale=[factor]).fit(data, y)
    positive = model.margin_probability(test)  # of a window
    windows = 100 * np.where(z == model.classes_[1], positive, 1 - positive).mean()
    print(f"{name}: {windows:.1f} % of windows, {100 * model.score(test, z):.1f} % of whole signals")
    svmgsu.plot.histogram(model, test, z, ax, bins=24)
    ax.set_title(f"{name}: {windows:.1f} % of windows right", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=130)
