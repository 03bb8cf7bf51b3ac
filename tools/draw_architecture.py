"""Draws docs/images/architecture.svg: the folders, and how data flow through them.

python tools/draw_architecture.py docs/images/architecture.svg
"""

import sys

import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

BLUE, ORANGE, GREY = "#0072b2", "#b84e00", "#555555"
WIDTH, HEIGHT = 10.0, 6.9

# title: (left, bottom, width, height, colour, what is in it)
BOXES = {
    "files": (0.2, 5.55, 1.9, 1.0, BLUE, "io/  cli/"),
    "what you have": (0.2, 4.2, 1.9, 1.0, BLUE, "uncertainty/"),
    "Gaussians, Mixtures": (2.75, 4.875, 1.9, 1.0, BLUE, "data/"),
    "features": (2.75, 3.2, 1.9, 1.0, BLUE, "propagate/  estimators/"),
    "problem, settings": (5.3, 4.875, 1.9, 1.0, BLUE, "fit/  outofcore/"),
    "model": (7.85, 4.875, 1.9, 1.0, BLUE, "models/"),
    "predictions, tables,\npictures": (7.85, 3.2, 1.9, 1.0, BLUE, "metrics/  plot/  reporting/"),
    "means and\ncovariances": (0.2, 0.75, 1.75, 1.1, ORANGE, "data/  kinds/"),
    "population": (2.15, 0.75, 1.75, 1.1, ORANGE, "population/  maps/"),
    "objective": (4.1, 0.75, 1.75, 1.1, ORANGE, "engines/  losses/"),
    "solver": (6.05, 0.75, 1.75, 1.1, ORANGE, "solvers/"),
    "saved model": (8.0, 0.75, 1.75, 1.1, ORANGE, "models/"),
}
ARROWS = [
    ("files", "right", "Gaussians, Mixtures", "left"),
    ("what you have", "right", "Gaussians, Mixtures", "left"),
    ("Gaussians, Mixtures", "right", "problem, settings", "left"),
    ("Gaussians, Mixtures", "bottom", "features", "top"),
    ("features", "right", "problem, settings", "bottom"),
    ("problem, settings", "right", "model", "left"),
    ("model", "bottom", "predictions, tables,\npictures", "top"),
    ("means and\ncovariances", "right", "population", "left"),
    ("population", "right", "objective", "left"),
    ("objective", "right", "solver", "left"),
    ("solver", "right", "saved model", "left"),
]


def point(name, side):
    left, bottom, width, height = BOXES[name][:4]
    return {
        "left": (left, bottom + height / 2),
        "right": (left + width, bottom + height / 2),
        "top": (left + width / 2, bottom + height),
        "bottom": (left + width / 2, bottom),
    }[side]


def frame(ax, left, bottom, width, height, colour, fill, edge=1.2):
    style = "round,pad=0,rounding_size=0.08"
    ax.add_patch(FancyBboxPatch((left, bottom), width, height, boxstyle=style, fc=fill, ec=colour, lw=edge))


def draw(path):
    plt.rcParams["svg.fonttype"] = "path"
    plt.rcParams["svg.hashsalt"] = "architecture"
    figure, ax = plt.subplots(figsize=(WIDTH, HEIGHT))
    figure.subplots_adjust(0, 0, 1, 1)
    ax.set(xlim=(0, WIDTH), ylim=(0, HEIGHT))
    ax.axis("off")
    frame(ax, 0.05, 2.85, 9.9, 3.95, BLUE, "#f2f8fc", 0.8)
    frame(ax, 0.05, 0.35, 9.9, 1.85, ORANGE, "#fdf5ef", 0.8)
    ax.text(
        9.75, 6.55, "python/svmgsu: checks and explains", ha="right", va="center", color=BLUE, fontsize=11
    )
    ax.text(0.2, 2.02, "cpp/: computes; no Python", ha="left", va="center", color=ORANGE, fontsize=11)
    for name, (left, bottom, width, height, colour, folders) in BOXES.items():
        frame(ax, left, bottom, width, height, colour, "white")
        middle = left + width / 2
        ax.text(middle, bottom + 0.64 * height, name, ha="center", va="center", fontsize=11)
        ax.text(middle, bottom + 0.2 * height, folders, ha="center", va="center", fontsize=9, color=colour)
    for start, out, end, into in ARROWS:
        arrow = {"arrowstyle": "-|>", "mutation_scale": 13, "color": GREY, "shrinkA": 1, "shrinkB": 1}
        ax.add_patch(FancyArrowPatch(point(start, out), point(end, into), **arrow))
    seam = {"arrowstyle": "<|-|>", "mutation_scale": 13, "color": GREY, "lw": 1.4}
    ax.add_patch(FancyArrowPatch((5.0, 2.86), (5.0, 2.19), **seam))
    ax.text(
        5.15,
        2.52,
        "cpp/bindings: arrays pass without a copy",
        ha="left",
        va="center",
        fontsize=10,
        color=GREY,
    )
    below = (
        "kernels/: the inner loops, for several instruction sets     support/  text/: files, memory, polling"
    )
    ax.text(0.2, 0.53, below, ha="left", va="center", fontsize=9, color=ORANGE)
    ax.text(
        0.2,
        0.15,
        "reference.py has the same method in plain NumPy; the compiled code is tested against it",
        fontsize=9,
        color=GREY,
    )
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None, dpi=110)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "docs/images/architecture.svg")
