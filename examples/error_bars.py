"""A table with error bars: do they help?
======================================

Cross-validation chooses λ and the scale of the covariances for ten measurements of tumour cells with their
standard errors (Wisconsin breast cancer). The errors are small, and using them changes nothing. With errors
√10 times as large, as if a tenth of the cells had been measured, using them helps. Held-out samples are
Gaussians, too, so the score is the accuracy expected at that noise.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svmgsu

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="error_bars.png", help="the picture (default: %(default)s)")
args = parser.parse_args()


def draw(search, ax, parameter, label):
    """Draw the best mean score at each value of a parameter."""
    tried = np.asarray(search.cv_results_[f"param_{parameter}"], dtype=float)
    scores = search.cv_results_["mean_test_score"]
    values = np.unique(tried)
    ax.plot(values, [scores[tried == value].max() for value in values], "o-", label="mean over the folds")
    ax.plot(tried[search.best_index_], scores[search.best_index_], "D", label="chosen")
    ax.set(xlabel=label, ylabel="expected accuracy")
    ax.legend()


# A frame with columns "radius" and "radius_err", and so on: the form that `from_frame` expects.
cancer = load_breast_cancer(as_frame=True)
names = {f"mean {name[:-6]}": name[:-6] for name in cancer.data.columns[10:20]}
table = cancer.data.iloc[:, :20].rename(columns=lambda c: names.get(c, c.replace(" error", "_err")))
y = cancer.target_names[cancer.target]
careful = svmgsu.Gaussians.from_frame(table)
print(careful)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12.4, 4.4), layout="constrained", sharey=True)
for ax, title, data in (
    (middle, "standard errors as given", careful),
    (right, "standard errors √10 times as large", careful.scale_cov(10)),
):
    search = svmgsu.LinearSVMGSU(np.logspace(0, -4, 13), cov_scale=[0, 0.1, 0.3, 1, 3])
    make_pipeline(svmgsu.Propagate(StandardScaler()), search).fit(data, y)
    draw(search, ax, "cov_scale", "factor of the covariances in training")
    ax.set_title(title, fontsize=11)
    ax.set_ylabel("")

    # Folds are hard or easy for all settings alike: compare fold by fold, each method at its best λ.
    results = search.cv_results_
    folds = 100 * np.array([results[f"split{k}_test_score"] for k in range(5)])
    svm, gsu = (max(folds[:, results["param_cov_scale"] == scale].T, key=np.mean) for scale in (0, 1))
    gain, error = (gsu - svm).mean(), (gsu - svm).std(ddof=1) / np.sqrt(5)
    print(f"{title}: chosen factor {search.cov_scale_:g}, λ = {search.lam_:.2g}; expected accuracy")
    print(f"  SVM {svm.mean():.1f} %, SVM-GSU {gsu.mean():.1f} %, gain {gain:+.2f} ± {error:.2f}")
draw(search, left, "lam", "λ, the strength of the penalty")
left.set_xscale("log")
left.set_title("λ, for the larger errors", fontsize=11)
figure.savefig(args.output, dpi=120)
