"""The paper's experiments with this library: `python -m bench.paper --help`. One module an experiment."""

from . import (
    eeg,
    eeg_deap,
    frames,
    mnist,
    mnist_sizes,
    mnist_subspaces,
    nogain,
    noisy,
    quasars,
    toy,
    tv,
    video,
    video_size,
    wdbc,
)

EXPERIMENTS = (
    toy.EXPERIMENT,
    mnist.EXPERIMENT,
    mnist_subspaces.EXPERIMENT,
    mnist_sizes.EXPERIMENT,
    wdbc.EXPERIMENT,
    eeg.EXPERIMENT,
    eeg_deap.EXPERIMENT,
    tv.EXPERIMENT,
    video.EXPERIMENT,
    video_size.EXPERIMENT,
    frames.EXPERIMENT,
    noisy.EXPERIMENT,
    quasars.EXPERIMENT,
    nogain.EXPERIMENT,
)
