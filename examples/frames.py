"""Many frames an object: train on summaries (mean and covariance), deploy on single frames.
=========================================================================================

What shakes from frame to frame (light, pose) is nearly gone in an object's mean, so an SVM trained on
means trusts features that single frames blur. SVM-GSU sees the blur: one Gaussian an object does what all
frames together do, if the covariances are full; diagonal ones miss that features shake together, and gain
nothing. The objects are synthetic and made to show this; --data FOLDER takes the utterances of nine
speakers instead (Japanese Vowels, FOLDER/japvowels/japvowels.npz).
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import svmgsu
from svmgsu.plot import BLUE, GREY
from svmgsu.uncertainty import from_repeats


def synthetic(rng, objects, frames=40):
    """Two classes, told apart by features 0 to 3; shakes move 0 together with 4, and 1 against 5."""
    y = np.arange(objects) % 2
    centre = rng.normal(size=(objects, 10))
    centre[:, :4] += np.outer(2 * y - 1, [2, 2, 0.5, 0.5])
    shakes = np.zeros((2, 10))
    shakes[0, [0, 4]], shakes[1, [1, 5]] = (4, 4), (4, -4)
    moved = rng.normal(size=(objects, frames, 2)) @ shakes + 0.3 * rng.normal(size=(objects, frames, 10))
    return list(centre[:, np.newaxis] + moved), y


def vowels(folder, part):
    """Utterances as lists of frames, and their speakers."""
    file = np.load(folder / "japvowels" / "japvowels.npz")
    ends = np.cumsum(file[f"{part}_len"])[:-1]
    return np.split(file[f"{part}_frames"].astype(float), ends), file[f"{part}_y"]


parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="frames.png", help="the picture (default: %(default)s)")
parser.add_argument("--data", type=Path, help="folder of japvowels; by default synthetic objects")
args = parser.parse_args()

rng = np.random.default_rng(0)
known, y = vowels(args.data, "train") if args.data else synthetic(rng, 150)
new, z = vowels(args.data, "test") if args.data else synthetic(rng, 600)
sizes = [len(frames) for frames in known]
owner = np.repeat(np.arange(len(y)), sizes)  # of every frame
full = from_repeats(known, covariance="full")

# All choose λ for single frames: validation examples are Gaussians (or the frames), also for the plain SVM.
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
    print(f"{name}: {mean:.1f} ± {error:.1f} % of a new object's frames")
    ax.barh(place, mean, 0.6, xerr=error, capsize=3, color=BLUE if "GSU" in name else GREY)
    ax.text(51.5, place, f"{mean:.1f} %", color="white", va="center")
ax.set_yticks(range(len(models)), list(models))
ax.set(xlim=(50, 100), ylim=(3.5, -0.5), xlabel="accuracy on single frames of new objects, %")
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=150)
