"""Train on precise data, use on noisy data
========================================

Planets against false positives among Kepler's objects of interest. The model is trained for new objects that
are measured as badly as the worst quarter of the known ones. FOLDER/kepler/cumulative.csv.gz is the table of
the NASA Exoplanet Archive.

.. image:: /images/kepler.png
"""

# sphinx_gallery_thumbnail_path = "images/kepler.png"

import argparse
import gzip

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupShuffleSplit
from sklearn.preprocessing import StandardScaler

import svmgsu
from svmgsu.uncertainty import from_errors

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--data", required=True, metavar="FOLDER")
parser.add_argument("--output", default="kepler.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

LOGARITHMIC = ("koi_period", "koi_duration", "koi_depth", "koi_prad", "koi_insol", "koi_srad")
PLAIN = ("koi_impact", "koi_steff", "koi_slogg")
EXACT = ("koi_model_snr", "koi_teq", "koi_kepmag")  # without standard errors

with gzip.open(f"{args.data}/kepler/cumulative.csv.gz", "rt", encoding="utf-8") as file:
    rows = (line for line in file if not line.startswith("#"))
    table = np.genfromtxt(rows, delimiter=",", names=True, dtype=None, encoding="utf-8")
table = table[table["koi_disposition"] != "CANDIDATE"]

# Values as log10 where they span orders of magnitude; an error is the mean of the upper and the lower one.
values = [np.log10(np.where(table[n] > 0, table[n], np.nan)) for n in LOGARITHMIC]
errors = [(table[f"{n}_err1"] - table[f"{n}_err2"]) / (2 * table[n] * np.log(10)) for n in LOGARITHMIC]
values += [table[n] for n in PLAIN] + [np.log10(np.where(table[n] > 0, table[n], np.nan)) for n in EXACT]
errors += [(table[f"{n}_err1"] - table[f"{n}_err2"]) / 2 for n in PLAIN]
errors += [np.zeros(len(table)) for n in EXACT]
X, std = np.column_stack(values), np.column_stack(errors)
complete = np.isfinite(X).all(axis=1) & np.isfinite(std).all(axis=1)
X, std, table = X[complete], std[complete], table[complete]
y = np.where(table["koi_disposition"] == "CONFIRMED", "planet", "false positive")

gains = []
for seed in range(10):
    split = GroupShuffleSplit(1, test_size=0.5, random_state=seed)
    known, new = next(split.split(X, y, groups=table["kepid"]))  # objects of a star stay together
    scaler = svmgsu.Propagate(StandardScaler()).fit(X[known])
    data = scaler.transform(from_errors(X, std, floor="smallest"))
    variances = data.cov.variances
    noisiest = known[np.argsort(variances[known].sum(axis=1))[-len(known) // 4 :]]
    pool = variances[np.random.default_rng(seed).choice(noisiest, len(X))]
    noise = np.sqrt(pool[new]) * np.random.default_rng(seed).standard_normal(X[new].shape)

    row = []
    for cov_scale in (0.0, 1.0):  # the ordinary SVM; SVM-GSU. Both choose λ for the test-time noise.
        search = svmgsu.LinearSVMGSU(
            lam=np.logspace(0, -4, 7), cov_scale=[cov_scale], probability=False, tol=0.0001
        )
        search.fit(svmgsu.Gaussians(data.mean[known], svmgsu.Diagonal(pool[known])), y[known])
        row.append((search.predict(data.mean[new] + noise) == y[new]).mean())
    gains.append(row)
    print(f"split {seed}: SVM {row[0]:.1%}, SVM-GSU {row[1]:.1%}")

svm, gsu = 100 * np.array(gains).T
print(f"gain {np.mean(gsu - svm):+.1f} points, better in {(gsu > svm).sum()} of {len(svm)} splits")

figure, ax = plt.subplots(figsize=(4.4, 4.2), layout="constrained")
ax.plot([svm.min() - 1, gsu.max() + 1], [svm.min() - 1, gsu.max() + 1], color="#B0B0B0", linewidth=1)
ax.scatter(svm, gsu, color=svmgsu.plot.BLUE, zorder=3)
ax.set(xlabel="linear SVM, accuracy with test-time noise, %", ylabel="SVM-GSU, accuracy, %", aspect="equal")
ax.set_title(f"Kepler: a point is a split, mean gain {np.mean(gsu - svm):+.1f} points", fontsize=10)
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(args.output, dpi=110)
