"""The paper's experiments with this library: `python -m bench.paper --help`."""

from . import (
    eeg,
    frames,
    mnist,
    nogain,
    noisy,
    quasars,
    toy,
    tv,
    video,
    wdbc,
)

EXPERIMENTS = (
    toy.EXPERIMENT,
    mnist.EXPERIMENT,
    mnist.SUBSPACES,
    mnist.MORE_IMAGES,
    wdbc.EXPERIMENT,
    eeg.EXPERIMENT,
    eeg.DEAP,
    tv.EXPERIMENT,
    video.EXPERIMENT,
    frames.EXPERIMENT,
    noisy.EXPERIMENT,
    quasars.EXPERIMENT,
    nogain.EXPERIMENT,
)
