"""Uncertainties change the boundary
=================================

Each class has eleven samples with long, slanted uncertainties. A model trained on the values alone cuts
through the ellipses. A model trained with the uncertainties runs along them. The shading is the predicted
probability.
"""

import argparse

import matplotlib.pyplot as plt

from svmgsu.demo import draw_crossing

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="boundary.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

figure, ax = plt.subplots(figsize=(5.6, 5.2), layout="constrained")
draw_crossing(ax)
figure.savefig(args.output, dpi=150)
