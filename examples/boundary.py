"""Error bars change the boundary between two classes.
===================================================

Eleven long Gaussians a class, in the plane. The SVM sees their means alone and cuts through the ellipses;
SVM-GSU runs along them.
"""

import argparse

import matplotlib.pyplot as plt

from svmgsu.demo import draw_crossing

parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--output", default="boundary.png", help="the picture (default: %(default)s)")
args = parser.parse_args()

figure, ax = plt.subplots(figsize=(5.6, 5.2), layout="constrained")
draw_crossing(ax)
figure.savefig(args.output, dpi=100)
