"""The paper's experiments with this library: `python -m bench.paper --help`. One module an experiment."""

from . import mnist, mnist_sizes, mnist_subspaces, toy, tv, wdbc

EXPERIMENTS = (
    toy.EXPERIMENT,
    mnist.EXPERIMENT,
    mnist_subspaces.EXPERIMENT,
    mnist_sizes.EXPERIMENT,
    wdbc.EXPERIMENT,
    tv.EXPERIMENT,
)
