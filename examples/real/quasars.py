"""Probabilities with error bars and class priors
==============================================

Is a quasar far away (redshift above 2.2)? The model learns from well-measured quasars and predicts badly
measured ones. Of these, far quasars are the more frequent the larger the error; a thousand of them with
known redshifts give the class priors for each size of the error. With error bars and priors, the log-loss
falls from 0.41 to 0.13. FOLDER/sdss_qso/SDSS_QSO.tab.gz is the catalogue.

.. image:: /images/quasars.png
"""

# sphinx_gallery_thumbnail_path = "images/quasars.png"

import argparse
import gzip

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

import svmgsu

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--data", required=True, metavar="FOLDER")
parser.add_argument("--output", default="quasars.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

with gzip.open(f"{args.data}/sdss_qso/SDSS_QSO.tab.gz", "rt") as file:
    table = np.loadtxt(file, skiprows=1, usecols=range(1, 12))
redshift, magnitude, error = table[:, 0], table[:, 1::2], table[:, 2::2]
good = (magnitude > 0).all(axis=1) & (error > 0).all(axis=1) & (error < 5).all(axis=1)
redshift, magnitude, error = redshift[good], magnitude[good], error[good]

# Four colours from five magnitudes. Neighbours share a band, which makes the covariances full.
difference = np.eye(4, 5) - np.eye(4, 5, k=1)
measured = svmgsu.Gaussians(magnitude, std=error)
data = svmgsu.Gaussians(magnitude @ difference.T, measured.cov.map(difference))
far = redshift >= 2.2

total = (error**2).sum(axis=1)
rng = np.random.default_rng(0)
precise = rng.choice(np.flatnonzero(total < np.median(total)), 4000, replace=False)
noisy, known = np.split(rng.choice(np.flatnonzero(total >= np.median(total)), 9000, replace=False), [8000])

scaler = svmgsu.Propagate(StandardScaler()).fit(data[precise])
model = svmgsu.train(scaler.transform(data[precise]), far[precise], lam=1e-3)
new = scaler.transform(data[noisy])
# The fraction of far quasars grows with the error, from 2 % to 96 %.
edges = np.quantile(total[known], np.linspace(0, 1, 11)[1:-1])
place = np.searchsorted(edges, total[known])
prior = np.array([(far[known][place == k].sum() + 1) / ((place == k).sum() + 2) for k in range(10)])
prior = prior[np.searchsorted(edges, total[noisy])]
probability = {
    "values alone": model.predict_proba(new.mean)[:, 1],
    "with errors and priors": model.predict_proba(new, prior=np.column_stack([1 - prior, prior]))[:, 1],
}
for name, p in probability.items():
    right = np.clip(np.where(far[noisy], p, 1 - p), 1e-15, 1)
    print(f"{name:<23} log-loss {-np.log(right).mean():.3f}")

# Eight groups of a thousand objects, from the better to the worse measured.
groups = np.array_split(np.argsort(total[noisy]), 8)
typical = [np.sqrt(np.median(total[noisy][g])) for g in groups]
figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
for (name, p), (colour, marker) in zip(probability.items(), svmgsu.plot.CLASS_STYLES[1::-1], strict=True):
    loss = -np.log(np.clip(np.where(far[noisy], p, 1 - p), 1e-15, 1))
    ax.plot(typical, [loss[g].mean() for g in groups], color=colour, marker=marker, label=name)
ax.set(xlabel="photometric error of the objects, magnitudes", ylabel="log-loss", xscale="log", ylim=(0, None))
ax.set_xticks([0.1, 0.2, 0.4, 0.8], ["0.1", "0.2", "0.4", "0.8"])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
figure.savefig(args.output, dpi=110)
