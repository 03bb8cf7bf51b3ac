"""Train on summaries, predict single frames
=========================================

Each sample has 40 frames, for example of a video. What changes from frame to frame (light, pose) averages out
in a sample's mean, so an SVM trained on means relies on features that are noisy in single frames. SVM-GSU
knows this noise from the covariances: with full ones, it does as well as an SVM trained on all frames.
Diagonal covariances miss the correlations and gain nothing. The data are synthetic and made to show this;
``--data FOLDER`` takes utterances of nine speakers instead (FOLDER/japvowels/japvowels.npz).
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import svmgsu
from svmgsu.plot import BLUE, GREY
from svmgsu.uncertainty import from_repeats


def synthetic(rng, samples, frames=40):
    """Two classes, which differ in features 0 to 3; frames move 0 together with 4, and 1 against 5."""
    y = np.arange(samples) % 2
    centre = rng.normal(size=(samples, 10))
    centre[:, :4] += np.outer(2 * y - 1, [2, 2, 0.5, 0.5])
    modes = np.zeros((2, 10))
    modes[0, [0, 4]], modes[1, [1, 5]] = (4, 4), (4, -4)
    moved = rng.normal(size=(samples, frames, 2)) @ modes + 0.3 * rng.normal(size=(samples, frames, 10))
    return list(centre[:, np.newaxis] + moved), y


def vowels(folder, part):
    """Utterances as lists of frames, and their speakers."""
    file = np.load(folder / "japvowels" / "japvowels.npz")
    ends = np.cumsum(file[f"{part}_len"])[:-1]
    return np.split(file[f"{part}_frames"].astype(float), ends), file[f"{part}_y"]


parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="frames.png", help="the picture (default: %(default)s)")
parser.add_argument("--data", type=Path, help="folder of japvowels; by default synthetic data")
args = parser.parse_args()

rng = np.random.default_rng(0)
known, y = vowels(args.data, "train") if args.data else synthetic(rng, 150)
new, z = vowels(args.data, "test") if args.data else synthetic(rng, 600)
sizes = [len(frames) for frames in known]
owner = np.repeat(np.arange(len(y)), sizes)  # the sample of every frame
full = from_repeats(known, covariance="full")

# All choose λ for single frames: held-out samples are Gaussians (or frames), also for the plain SVM.
lams = np.logspace(0, -4, 9)
models = {
    "SVM on means": svmgsu.LinearSVMGSU(lams, cov_scale=[0]).fit(full, y),
    "SVM-GSU, diagonal": svmgsu.LinearSVMGSU(lams).fit(from_repeats(known), y),
    "SVM-GSU, full": svmgsu.LinearSVMGSU(lams).fit(full, y),
    "SVM on all frames": svmgsu.LinearSVMGSU(lams).fit(np.concatenate(known), y[owner], groups=owner),
}
figure, ax = plt.subplots(figsize=(6.2, 3.4), layout="constrained")
for place, (name, model) in enumerate(models.items()):
    shares = [100 * (model.predict(frames) == label).mean() for frames, label in zip(new, z, strict=True)]
    mean, error = np.mean(shares), np.std(shares) / np.sqrt(len(shares))
    print(f"{name}: {mean:.1f} ± {error:.1f} % of a new sample's frames")
    ax.barh(place, mean, 0.6, xerr=error, capsize=3, color=BLUE if "GSU" in name else GREY)
    ax.text(51.5, place, f"{mean:.1f} %", color="white", va="center")
ax.set_yticks(range(len(models)), list(models))
ax.set(xlim=(50, 100), ylim=(3.5, -0.5), xlabel="accuracy on single frames of new samples, %")
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=150)
