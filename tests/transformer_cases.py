"""What tests of transformer share."""

import numpy as np
import pytest

import svmgsu

COUNT, N = 30, 5


EVERY = {
    "scaler": svmgsu.GaussianScaler(),
    "robust": svmgsu.GaussianScaler("robust"),
    "minmax": svmgsu.GaussianScaler("minmax"),
    "linear map": svmgsu.GaussianLinearMap(np.arange(15.0).reshape(3, 5) ** 0.5, [1.0, 2.0, 3.0]),
    "pca": svmgsu.GaussianPCA(3),
    "selector": svmgsu.GaussianColumnSelector([3, 0]),
    "identity": svmgsu.GaussianFunctionTransformer(),
    "exp": svmgsu.GaussianFunctionTransformer("exp"),
    "normalizer": svmgsu.GaussianNormalizer(),
}


every_transformer = pytest.mark.parametrize("name", EVERY)


def full_of(data, y=None):
    return np.zeros((*data.shape, data.shape[1])) if data.cov is None else data.cov.to_full(*data.shape, y=y)
