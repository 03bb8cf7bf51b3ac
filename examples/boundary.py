"""Draws the boundary that error bars change: python boundary.py [output.png]."""

import sys

import matplotlib.pyplot as plt

from svmgsu.demo import draw_crossing

figure, ax = plt.subplots(figsize=(5.6, 5.2), layout="constrained")
draw_crossing(ax)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "boundary.png", dpi=110)
