"""Training of blocks that was stopped goes on from its checkpoint to the same bits."""

import numpy as np
import pytest

import svmgsu


def opened(folder, shift=0.0, classes=2):
    rng = np.random.default_rng(6)
    X, V = rng.normal(size=(1500, 5)), rng.uniform(0.1, 0.5, size=(1500, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=1500) > 0).astype(int) if classes == 2 else X[:, :3].argmax(axis=1)
    return svmgsu.open([{"X": X + shift, "cov": V, "y": y}], cache=folder)


def same_bits(found, known):
    assert np.array_equal(found.coef_, known.coef_) and np.array_equal(found.intercept_, known.intercept_)
    assert (found.objective_, found.gap_) == (known.objective_, known.gap_)


def stopped(blocks, after, **more):
    def callback(progress):
        if progress.iteration >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        svmgsu.train(blocks, callback=callback, probability=False, **more)


@pytest.mark.parametrize("after", [1, 3])
def test_it_goes_on_to_the_same_bits(tmp_path, after):
    blocks, file = opened(tmp_path / "cache"), tmp_path / "stars.ckpt"
    known = svmgsu.train(blocks, probability=False)
    stopped(blocks, after, checkpoint=file)
    assert 0 < file.stat().st_size < 100_000
    same_bits(svmgsu.train(blocks, probability=False, checkpoint=file, resume=True), known)
    same_bits(svmgsu.train(blocks, checkpoint=file, resume=True), known)  # folds are not recorded
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "stars.ckpt"]


def test_several_classes_have_a_file_each(tmp_path):
    blocks, file = opened(tmp_path / "cache", classes=3), tmp_path / "c"
    known = svmgsu.train(blocks, probability=False)
    same_bits(svmgsu.train(blocks, probability=False, checkpoint=file), known)
    same_bits(svmgsu.train(blocks, probability=False, checkpoint=file, resume=True), known)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "c.1", "c.2", "cache"]


def test_other_data_and_settings_are_refused(tmp_path):
    file = tmp_path / "c"
    blocks = opened(tmp_path / "one")
    svmgsu.train(blocks, checkpoint=file, probability=False)
    with pytest.raises(ValueError, match=r"checkpoint: .* is of other data or settings"):
        svmgsu.train(opened(tmp_path / "two", 0.5), checkpoint=file, resume=True, probability=False)
    with pytest.raises(ValueError, match=r"checkpoint: .* is of other data or settings"):
        svmgsu.train(blocks, lam=0.1, checkpoint=file, resume=True, probability=False)
    with pytest.raises(ValueError, match=r"checkpoint: .* is of other data or settings"):
        svmgsu.train(blocks, sample_weight=np.arange(1500.0), checkpoint=file, resume=True, probability=False)
    with pytest.raises(ValueError, match=r"resume: .* pass checkpoint="):
        svmgsu.train(blocks, resume=True)
    with pytest.raises(ValueError, match="checkpoint: for blocks of svmgsu"):
        svmgsu.train(np.eye(2), [0, 1], checkpoint=file)


def test_a_regression_goes_on_too(tmp_path):
    blocks, file = opened(tmp_path / "cache"), tmp_path / "c"
    t = np.linspace(0, 1, 1500)
    known = svmgsu.train_regressor(blocks, t, loss="huber")
    same_bits(svmgsu.train_regressor(blocks, t, loss="huber", checkpoint=file), known)
    same_bits(svmgsu.train_regressor(blocks, t, loss="huber", checkpoint=file, resume=True), known)
