from pathlib import Path

import pytest

from certimeans.bench.suite import find_cases, load_case
from certimeans.errors import InputError
from tests.bench.folders import make_folder

SUITE = """
[[dataset]]
name = "mine"
points = "points.txt"
labels = "classes.txt"
links = [[1, 0], [1, 2]]
seeds = [0, 5]

[[dataset]]
name = "flowers"
points = "sklearn:iris"
k = 3
rows = 30
standardize = true
links = [[2, 3]]
"""


@pytest.fixture
def suite_file(tmp_path: Path) -> Path:
    """Write a suite of own points and of scikit-learn's."""
    (tmp_path / "points.txt").write_text("4 1 2\n0\n1\n8\n9\n", encoding="utf-8")
    (tmp_path / "classes.txt").write_text("a\na\nb\nb\n", encoding="utf-8")
    path = tmp_path / "suite.toml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def test_a_folder_is_listed_by_name_constraints_and_seed(tmp_path: Path) -> None:
    """Cases come sorted, know k from the points, and carry their published result."""
    published = "dataset,ml,cl,seed,size,f,gap0,nodes,time\nline,0,1,0,6,4.0,0.1,3,7\n"
    cases = find_cases(make_folder(tmp_path, published=published))
    assert [case.name for case in cases] == ["line 0 1 0", "line 1 0 0", "shifted 0 1 0", "shifted 1 0 0"]
    assert cases[0].published is not None
    assert (cases[0].published.cost, cases[0].published.nodes, cases[0].published.is_solved) == (4.0, 3, True)
    assert cases[1].published is None
    assert cases[0].instance.n_clusters == 2
    assert cases[1].instance.must_link.tolist() == [[2, 3]]
    assert load_case(tmp_path, "line 1 0 0") == cases[1]


def test_a_suite_file_draws_constraints_from_classes(suite_file: Path) -> None:
    """Each pair of numbers is drawn once a seed; must-links stay inside classes."""
    cases = find_cases(suite_file)
    assert [case.name for case in cases] == ["mine 1 0 0", "mine 1 0 5", "mine 1 2 0", "mine 1 2 5", "flowers 2 3 0"]
    instance = cases[2].instance
    assert instance.n_clusters == 2
    assert instance.must_link.tolist() in ([[0, 1]], [[2, 3]])
    assert len(instance.cannot_link) == 2


def test_built_in_data_are_thinned_and_standardized(suite_file: Path) -> None:
    """Thirty of the 150 flowers, all three classes among them, measured in standard deviations."""
    instance = find_cases(suite_file, ["flowers"])[0].instance
    assert instance.points.shape == (30, 4)
    assert instance.standardize
    assert instance.total_scatter == pytest.approx(30 * 4)


def test_the_bundled_suite_can_be_built() -> None:
    """Every instance of ``small`` loads, with four data sets of scikit-learn."""
    cases = find_cases("small")
    assert {case.dataset for case in cases} == {"iris", "wine", "breast_cancer", "digits"}
    for case in cases:
        assert len(case.instance.must_link) == case.must_links
        assert len(case.instance.cannot_link) == case.cannot_links


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 1", "unknown key 'name'"),
        ("dataset = 3", r"a table \[\[dataset\]\]"),
        ("[[dataset]]\nname = 'a'\npoints = 'sklearn:iris'\n", "key 'links' is missing"),
        ("[[dataset]]\nname = 'a'\ncolour = 'red'\n", "unknown key 'colour'"),
        ("[[dataset]]\nname = 'a'\npoints = 'x'\nlinks = [[1]]\n", r"pairs \[must-links, cannot-links\]"),
        ("[[dataset]]\nname = 'a'\npoints = 'x'\nk = true\nlinks = []\n", "'k' must be of type int"),
        ("[[dataset", "not a suite file"),
    ],
)
def test_bad_suite_files_are_refused_with_the_key(tmp_path: Path, text: str, message: str) -> None:
    """The message says what is wrong and where."""
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        find_cases(path)


def test_missing_suites_data_sets_and_columns_are_named(tmp_path: Path) -> None:
    """An unknown suite lists the bundled ones, an unknown data set the known ones."""
    with pytest.raises(InputError, match=r"no bundled suite of that name \(small\)"):
        find_cases("nothing")
    with pytest.raises(InputError, match="no data set 'moon'; there are line, shifted"):
        find_cases(make_folder(tmp_path / "a"), ["line", "moon"])
    with pytest.raises(InputError, match="no column 'size'"):
        find_cases(make_folder(tmp_path / "b", published="dataset,ml,cl,seed\n"))
    with pytest.raises(InputError, match="line 2: a number is missing"):
        find_cases(
            make_folder(tmp_path / "c", published="dataset,ml,cl,seed,size,f,gap0,nodes,time\nx,1,1,0,?,1,1,1,1\n")
        )
