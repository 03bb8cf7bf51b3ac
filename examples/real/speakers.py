"""Speakers from single frames
===========================

Utterances of nine speakers are known by the mean and covariance of their frames (Japanese Vowels). The model
predicts the speaker of single new frames. With full covariances it does as well as one trained on all
frames. One split and one λ for all; bench/paper/RESULTS.md has ten splits, with λ chosen for each.
FOLDER/japvowels/japvowels.npz holds the data.

.. image:: /images/speakers.png
"""

# sphinx_gallery_thumbnail_path = "images/speakers.png"

import argparse
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

import svmgsu
from svmgsu.uncertainty import from_repeats

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--data", required=True, metavar="FOLDER")
parser.add_argument("--output", default="speakers.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

with np.load(f"{args.data}/japvowels/japvowels.npz") as found:
    frames, lengths, speaker = (found[f"train_{name}"] for name in ("frames", "len", "y"))
    new_frames = found["test_frames"]
    new_speaker = np.repeat(found["test_y"], found["test_len"])

# 270 utterances: means with full covariances, with variances alone, and the 4,274 frames themselves.
utterance = np.repeat(np.arange(len(lengths)), lengths)
full = from_repeats(frames, utterance, covariance="full")
diagonal = from_repeats(frames, utterance, covariance="diagonal")
scaler = svmgsu.Propagate(StandardScaler()).fit(frames)  # as the frames are spread, not the means

# No hyperplane separates speaker 8 from the other eight: a warning says so.
warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)

accuracy = {}
for name, data, y in (
    ("means", svmgsu.Gaussians(full.mean), speaker),
    ("means and variances", diagonal, speaker),
    ("means and full covariances", full, speaker),
    ("all frames", svmgsu.Gaussians(frames), speaker[utterance]),
):
    model = svmgsu.train(scaler.transform(data), y, lam=1e-3)
    accuracy[name] = (model.predict(scaler.transform(new_frames)) == new_speaker).mean()
    print(f"trained on {name:<27} {len(data):5d} samples   {accuracy[name]:.1%} of new frames right")

figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
colours = [svmgsu.plot.BLUE if "full" in name else "#B0B0B0" for name in accuracy]
drawn = ax.barh(list(accuracy), [100 * a for a in accuracy.values()], color=colours)
ax.bar_label(drawn, fmt="%.1f %%", padding=4)
ax.set(xlabel="new frames classified rightly, % (nine speakers)", xlim=(0, 100))
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=110)
