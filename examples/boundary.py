"""Uncertainties change the boundary
=================================

Each class has eleven samples with long, slanted uncertainties. A model trained on the values alone cuts
through the ellipses. A model trained with the uncertainties runs along them. The shading is the predicted
probability.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

import svmgsu
from svmgsu.demo import crossing

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="boundary.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

data, labels = crossing()
y = np.array(["star", "quasar"])[labels - 1]
with_uncertainties = svmgsu.train(data, y, lam=1e-2)
values_only = svmgsu.train(data.mean, y, lam=1e-2)

figure, ax = plt.subplots(figsize=(5.6, 5.2), layout="constrained")
names = ("with uncertainties", "values only")
svmgsu.plot.boundary(with_uncertainties, data, y, ax, other=values_only, labels=names)
figure.savefig(args.output, dpi=150)
