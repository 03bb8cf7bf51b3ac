"""`gsvm-train` and `gsvm-predict`: the authors' flags, files and layouts, right numbers and exit codes."""

import numpy as np
import pytest
from conftest import train_with

import svmgsu
from svmgsu.cli.gsvm import predict_main, train_main


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gsvm")
    rng = np.random.default_rng(1)
    y = np.repeat([-1, 1], [25, 35])
    X = rng.normal(size=(60, 3)) + 0.5 * y[:, np.newaxis]
    V = rng.uniform(0.1, 1, X.shape)
    full = np.einsum("lij,lkj->lik", *[rng.normal(size=(60, 3, 3))] * 2) / 6
    kinds = {
        "diagonal": svmgsu.Diagonal(V),
        "isotropic": svmgsu.Isotropic(V[:, 0]),
        "full": svmgsu.Full(full),
    }
    svmgsu.io.write(X, folder / "means", folder / "labels", y=y)
    for name, cov in kinds.items():
        svmgsu.io.write(svmgsu.Gaussians(X, cov), folder / "means", cov=folder / name)
    return folder, X, y, kinds


def words(folder, *names):
    return [str(folder / name) for name in names]


@pytest.mark.parametrize(
    ("d", "name", "type"),
    [(0, "full", "full"), (1, "diagonal", "diagonal"), (2, "isotropic", "isotropic"), (3, "isotropic", "")],
)
def test_kinds_of_covariance(d, name, type, files, tmp_path, capsys):
    folder, X, y, kinds = files
    assert train_main(["-d", str(d), *words(folder, "means", "labels", name), str(tmp_path / "m")]) == 0
    assert capsys.readouterr() == ("", "")
    model = svmgsu.load(tmp_path / "m")
    assert (tmp_path / "m").read_text().startswith("SVM-GSU Model_File\nkernel_type linear\nlambda 1\n")
    assert (tmp_path / "m").read_text().splitlines()[5] == f"cov_mat_type {type}"
    model.save(tmp_path / "again", format="gsvm")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    wanted = svmgsu.train(X, y, kinds[name], lam=1.0, probability=False)
    platt = svmgsu._core.fit_platt(wanted.decision_function(X), np.asarray(y, dtype=float))
    assert np.allclose(model.coef_, wanted.coef_, rtol=1e-12) and model.platt_ == pytest.approx(platt)


def test_messages_name_no_options_that_are_not_there(tmp_path, capsys):
    (tmp_path / "means").write_text("a\nb\n")
    (tmp_path / "labels").write_text("a 1\nb -1\n")
    (tmp_path / "cov").write_text("a 1,1:1\nb 1,1:1\n")
    assert train_main(["-d", "2", *words(tmp_path, "means", "labels", "cov", "m")]) == 1
    err = capsys.readouterr().err
    assert "means: all means are zero" in err and "--read" not in err


def test_subspaces_are_the_paper_s(files, tmp_path):
    folder, X, y, kinds = files
    assert train_main(["-p", "0.7", *words(folder, "means", "labels", "full"), str(tmp_path / "m")]) == 0
    data = svmgsu.Gaussians(X, kinds["full"]).subspace(0.7, "project")
    wanted = svmgsu.train(data, y, lam=1.0, probability=False)
    assert np.allclose(svmgsu.load(tmp_path / "m").coef_, wanted.coef_, rtol=1e-9)


def test_sgd_is_their_iteration(files, tmp_path):
    folder, X, y, kinds = files
    names = words(folder, "means", "labels", "diagonal")
    for flags, settings in (
        ([], {"steps": 1000, "batch_size": 1}),
        (["-T", "77", "-k", "5", "--seed", "3"], {"steps": 77, "batch_size": 5, "seed": 3}),
    ):
        assert train_main(["-d", "1", "--solver", "sgd", *flags, *names, str(tmp_path / "m")]) == 0
        wanted = train_with(
            X, y, kinds["diagonal"], lam=1.0, average=0.0, probability=False, **settings, solver="sgd"
        )
        assert np.allclose(svmgsu.load(tmp_path / "m").coef_, wanted.coef_, rtol=1e-12)


@pytest.mark.parametrize(
    "flags",
    [["-d", "4"], ["-l", "0"], ["-l", "x"], ["-p", "0"], ["-p", "2"], ["-T", "0"], ["-v"], ["-z", "1"]],
)
def test_wrong_flags_are_exit_code_2(flags, files, tmp_path):
    with pytest.raises(SystemExit) as exit_:
        train_main([*flags, *words(files[0], "means", "labels", "full"), str(tmp_path / "m")])
    assert exit_.value.code == 2


MODEL = (
    "SVM-GSU Model_File\nkernel_type linear\nlambda 1\nsigmA {A}\nsigmB 0.5\ncov_mat_type full\nw {w}\nb 0\n"
)


def predicted(tmp_path, means, A="-2", w="1 0", flags=()):
    """The lines that `gsvm-predict` writes."""
    (tmp_path / "means").write_text(means)
    (tmp_path / "m").write_text(MODEL.format(A=A, w=w))
    assert predict_main([*flags, *words(tmp_path, "means", "m", "out")]) == 0
    return [line.split() for line in (tmp_path / "out").read_text().splitlines()]


def test_output_has_the_authors_layout(tmp_path):
    lines = predicted(tmp_path, "a 1:-1 2:1\nb 1:2\nc 2:1\n")
    assert lines[0] == ["doc_id", "+1", "-1", "label"]
    assert [line[0] for line in lines[1:]] == ["b", "c", "a"]
    for (_, p, q, _), f in zip(lines[1:], (2, 0, -1), strict=True):
        assert float(p) == pytest.approx(1 / (1 + np.exp(-2 * f + 0.5)), rel=1e-14)
        assert float(p) + float(q) == pytest.approx(1)
    assert [line[3] for line in lines[1:]] == ["1", "1", "-1"]  # at f = 0 it is +1


def test_ranking_is_by_probability_even_where_it_is_saturated_or_falls_with_the_score(tmp_path):
    assert [line[0] for line in predicted(tmp_path, "a 1:300\nb 1:400\nc 1:-1 2:1\n")[1:]] == ["b", "a", "c"]
    assert [line[0] for line in predicted(tmp_path, "a 1:3\nb 1:4\nc 1:-1 2:1\n", A="2")[1:]] == [
        "c",
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    ("w", "note"),
    [("1", "the last features are not used"), ("1 0 7 7", "its last weights are not used")],
)
def test_a_model_of_another_length_is_cut_or_filled(w, note, tmp_path, capsys):
    means = "a 1:-1 2:1\nb 1:2\n"
    wanted = predicted(tmp_path, means)
    assert capsys.readouterr().err == ""
    assert predicted(tmp_path, means, w=w) == wanted
    assert note in capsys.readouterr().err


METRICS = """\
num_ret\t\t6
num_rel\t\t3
TP\t\t2
TN\t\t2
FP\t\t1
FN\t\t1
acc\t\t0.666667
prec\t\t0.666667
prec@5\t\t0.6
prec@10\t\t0
prec@15\t\t0
prec@20\t\t0
prec@30\t\t0
prec@100\t0
prec@200\t0
prec@500\t0
prec@1000\t0
ap\t\t0.755556
ap@5\t\t0.755556
ap@10\t\t0
ap@15\t\t0
ap@20\t\t0
ap@30\t\t0
ap@100\t\t0
ap@200\t\t0
ap@500\t\t0
ap@1000\t\t0
recall\t\t0.666667
recall@5\t1
recall@10\t0
recall@15\t0
recall@20\t0
recall@30\t0
recall@100\t0
recall@200\t0
recall@500\t0
recall@1000\t0
f-score\t\t0.666667
"""


def test_metrics_have_the_authors_layout(tmp_path):
    """In the order of scores +, -, +, -, +, -, of which the first three are said to be positive."""
    (tmp_path / "labels").write_text("a 1\nb -1\nc 1\nd -1\ne 1\nf -1\n")
    flags = ["-t", str(tmp_path / "labels"), "-m", str(tmp_path / "metrics")]
    predicted(tmp_path, "a 1:3\nb 1:2\nc 1:1\nd 1:-1\ne 1:-2\nf 1:-3 2:1\n", flags=flags)
    assert (tmp_path / "metrics").read_text() == METRICS


def test_with_labels_only_examples_that_have_one_are_written_and_measured(tmp_path, capsys):
    (tmp_path / "labels").write_text("z +1\na -1\nb: +1\n")
    flags = ["-t", str(tmp_path / "labels"), "-m", str(tmp_path / "metrics")]
    lines = predicted(tmp_path, "a 1:-1 2:1\nb 1:2\nc 2:1\n", flags=flags)
    assert [line[0] for line in lines[1:]] == ["b", "a"]
    assert "means: 1 of 3 samples dropped" in capsys.readouterr().err
    assert (tmp_path / "metrics").read_text().startswith("num_ret\t\t2\nnum_rel\t\t1\n")


def test_a_model_of_svmgsu_train_is_read_too(files, tmp_path):
    folder, X, y, _ = files
    svmgsu.train(X, y).save(tmp_path / "m")
    assert predict_main([str(folder / "means"), str(tmp_path / "m"), str(tmp_path / "o")]) == 0
    assert (tmp_path / "o").read_text().startswith("doc_id +1 -1 label\n")


def trained(tmp_path, means, labels, cov, d):
    """The model of files with these contents, λ = 0.1."""
    for name, content in (("means", means), ("labels", labels), ("cov", cov)):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert train_main(["-d", d, "-l", "0.1", *words(tmp_path, "means", "labels", "cov", "m")]) == 0
    return svmgsu.load(tmp_path / "m")


MEANS = "a 1:1 2:2\nb 1:-1 2:-2\nc 1:2 2:1\nd 1:-2 2:-1\n"
LABELS = "a 1\nb -1\nc 1\nd -1\n"
X = np.array([[1.0, 2], [-1, -2], [2, 1], [-2, -1]])
Y = [1, -1, 1, -1]


@pytest.mark.parametrize(
    ("d", "first", "cov"),
    [
        ("0", "4,4:0.5 1,4:0.25 1,1:1", [[1, 0, 0, 0.25], [0, 0, 0, 0], [0, 0, 0, 0], [0.25, 0, 0, 0.5]]),
        ("1", "4,4:0.5 1,1:1", np.diag([1, 0, 0, 0.5])),
    ],
)
def test_covariances_may_have_features_beyond_those_of_the_means(d, first, cov, tmp_path, capsys):
    model = trained(tmp_path, MEANS, LABELS, f"a {first}\nb 1,1:1\nc 2,2:1\nd 3,3:1\n", d)
    covs = np.array([cov, *(np.diag(np.eye(4)[j]) for j in (0, 1, 2))], dtype=float)
    wanted = svmgsu.train(np.c_[X, np.zeros((4, 2))], Y, svmgsu.Full(covs), lam=0.1, probability=False)
    assert model.coef_.shape == (1, 4) and np.allclose(model.coef_, wanted.coef_, rtol=1e-6, atol=1e-9)
    assert "cov: indices up to 4, but " in capsys.readouterr().err
    assert predict_main(words(tmp_path, "means", "m", "out")) == 0
    assert "its last weights are not used" in capsys.readouterr().err


def test_of_several_isotropic_variances_the_last_in_the_line_counts(tmp_path, capsys):
    wanted = trained(tmp_path, MEANS, LABELS, "a 1,1:0.1\nb 1,1:0.2\nc 1,1:0.3\nd 1,1:0.4\n", "2")
    assert capsys.readouterr().err == ""
    several = "a 3,3:7 1,1:0.1\nb 1,1:9 1,1:0.2\nc 9,9:0.3\nd 1,1:7 2,2:0.4\n"
    model = trained(tmp_path, MEANS, LABELS, several, "2")
    assert model.coef_.tolist() == wanted.coef_.tolist()
    assert "cov: 3 lines have more than one variance; the last counts" in capsys.readouterr().err


def test_the_toy_data_end_to_end(data_folder, tmp_path):
    toy = data_folder / "svm_gsu_toy"
    names = words(toy, "mean.dat", "labels.dat", "cov_diag.dat")
    assert train_main(["-d", "1", *names, str(tmp_path / "m")]) == 0
    lines = (tmp_path / "m").read_text().splitlines()
    assert [line.split()[0] for line in lines] == [
        *("SVM-GSU", "kernel_type", "lambda", "sigmA", "sigmB", "cov_mat_type", "w", "b")
    ]
    assert lines[5] == "cov_mat_type diagonal" and len(lines[6].split()) == 17
    some = (toy / "labels.dat").read_text().splitlines()[::2]
    (tmp_path / "some").write_text("\n".join(some) + "\n")
    flags = ["-t", str(tmp_path / "some"), "-m", str(tmp_path / "metrics")]
    assert predict_main([*flags, names[0], str(tmp_path / "m"), str(tmp_path / "o")]) == 0
    lines = [line.split() for line in (tmp_path / "o").read_text().splitlines()[1:]]
    truth = dict(line.split() for line in some)
    assert sorted(line[0] for line in lines) == sorted(truth)
    assert np.mean([truth[id] == said for id, _, _, said in lines]) > 0.999
    rows = dict(line.split() for line in (tmp_path / "metrics").read_text().splitlines())
    assert rows["num_ret"] == str(len(truth)) == "5000" and float(rows["ap"]) > 0.999
