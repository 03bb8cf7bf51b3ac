"""Images that may be shifted a little: tangents as uncertainty, on scikit-learn's digits (8 × 8 pixels).

To first order a shifted image is the image plus a multiple of its gradient, so a digit with random shifts
is a Gaussian of rank two. Trained on these, shifted digits are read better, at no loss where nothing is
shifted; both methods choose λ for shifted digits. At a whole pixel the tangents no longer describe what
happens to strokes two pixels wide, and both fail.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import shift
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import svmgsu
from svmgsu.plot import BLUE, GREY
from svmgsu.uncertainty import from_images

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--output", default="images.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

digits = load_digits()
known, new, y, z = train_test_split(
    digits.images / 16, digits.target, test_size=0.5, random_state=0, stratify=digits.target
)
data = from_images(known, shift=0.5)  # standard deviations of half a pixel, down and to the right
print(data)

# A factor of 0 trains the ordinary SVM, but still chooses λ by digits that may be shifted.
models = {
    name: svmgsu.LinearSVMGSUCV(np.logspace(-2, -4, 5), cov_scales=[factor], cv=3).fit(data, y)
    for name, factor in (("SVM", 0), ("SVM-GSU", 1))
}

figure, axes = plt.subplots(1, 3, figsize=(11.8, 3.6), layout="constrained", width_ratios=(1.3, 1, 1))
figure.get_layout_engine().set(wspace=0.06)
sizes, angles = np.linspace(0, 1, 6), np.radians(np.arange(0, 360, 45))
for (name, model), colour, marker, ax in zip(models.items(), (GREY, BLUE), "so", axes[1:], strict=True):
    accuracy = []
    for size in sizes:
        moved = [shift(new, (0, size * np.sin(a), size * np.cos(a)), order=1) for a in angles]
        accuracy.append(100 * np.mean([(model.predict(x.reshape(len(z), -1)) == z).mean() for x in moved]))
    print(f"{name}, λ = {model.lam_:.2g}: " + ", ".join(f"{a:.1f}" for a in accuracy) + " %")
    dashes = "--" if name == "SVM" else "-"
    axes[0].plot(sizes, accuracy, color=colour, marker=marker, linestyle=dashes, label=name)
    svmgsu.plot.weights(model, (8, 8), ax, class_=3)
    ax.set_title(f"weights of the 3, {name}", fontsize=11)
axes[0].set(xlabel="shift, pixels (mean over eight directions)", ylabel="accuracy on new digits, %")
axes[0].legend(frameon=False)
axes[0].spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=130)
