import json
from fnmatch import fnmatch
from pathlib import Path

import pytest

from benchmarks import all as runner
from benchmarks.reliability.sources import ROOT
from benchmarks.steps import FRONTIER, Step, steps


def fake(name: str, *files: str, writes: tuple[str, ...] | None = None, after: tuple[str, ...] = ()) -> Step:
    return Step(name, "tests.benchmarks.fake_step", (), files, files if writes is None else writes, after)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "data" / "datasets").mkdir(parents=True)
    return tmp_path


def run(place: Path, known: list[Step], *more: str) -> int:
    arguments = ["--quick", "--data", str(place / "data"), "--build", str(place / "build"), *more]
    return runner.main(arguments, known)


def done(place: Path) -> list[str]:
    return list(json.loads((place / "build" / "state.json").read_text(encoding="utf-8")))


def runs(place: Path, name: str) -> int:
    return (place / "build" / "logs" / f"{name}.log").read_text(encoding="utf-8").count("===")


def test_what_is_done_is_not_done_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run does only what is new; other sources do all again unless told to keep."""
    known = [fake("a", "a.md")]
    assert run(place, known) == 0
    assert run(place, [*known, fake("b", "b.csv", "b.png")]) == 0
    assert (runs(place, "a"), runs(place, "b")) == (1, 1)
    monkeypatch.setattr(runner, "sources_in_use", lambda: "other")
    assert run(place, known, "--keep") == 0
    assert runs(place, "a") == 1
    assert run(place, known) == 0
    assert runs(place, "a") == 2
    assert run(place, known, "--again") == 0
    assert runs(place, "a") == 3


def test_another_kind_of_machine_measures_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded beside the tables came from somewhere."""
    run(place, [fake("a", "a.md")])
    monkeypatch.setattr(runner, "processor", lambda: "abacus")
    run(place, [fake("a", "a.md")])
    assert runs(place, "a") == 2


def test_other_arguments_are_another_step(place: Path) -> None:
    """A step whose arguments have changed is done again."""
    run(place, [fake("a", "a.md")])
    run(place, [fake("a", "a.md", "b.md", writes=("a.md",))])
    assert runs(place, "a") == 2


def test_a_step_that_fails_is_named_and_the_others_go_on(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code says so, what reads its results is not run, and once mended only these are run."""
    (place / "build").mkdir()
    (place / "build" / "broken").touch()
    bad, reader = fake("bad", "bad.md"), fake("reader", "reader.md", after=("bad",))
    good = Step("good", "platform", (), (), ())
    assert run(place, [bad, reader, good]) == 1
    said = capsys.readouterr().out
    assert "FAILED: bad: exit code 3; see " in said
    assert "FAILED: reader: reads the results of bad" in said
    assert done(place) == ["good"]
    (place / "build" / "broken").unlink()
    assert run(place, [bad, reader, good]) == 0
    assert runs(place, "good") == 1


def test_a_run_whose_sources_are_edited_stops(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was measured until then counts, the step at hand does not; the exit code says so."""
    asked = iter(["first", "first", "edited"])
    monkeypatch.setattr(runner, "sources_in_use", lambda: next(asked))
    assert run(place, [fake("a", "a.md"), fake("b", "b.md"), fake("c", "c.md")]) == 1
    assert done(place) == ["a"]
    assert "the sources were edited meanwhile" in capsys.readouterr().out


def test_a_file_that_was_not_written_is_a_failure(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that an earlier run left does not count."""
    (place / "build" / "results").mkdir(parents=True)
    (place / "build" / "results" / "b.md").touch()
    assert run(place, [fake("a", "a.md", writes=("a.md", "b.md", "c_*.png"))]) == 1
    assert "did not write b.md, c_*.png" in capsys.readouterr().out


def test_a_dry_run_does_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shows commands, and what is left out because a folder is missing, with what depends on that."""
    other = Step("other", "tests.benchmarks.fake_step", (), ("OTHER",), ())
    known = [fake("a", "a.md"), other, fake("reader", "r.md", after=("other",))]
    assert run(place, known, "--dry-run") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("-m tests.benchmarks.fake_step a.md")
    assert said[1:] == ["other: left out, needs OTHER", "reader: left out, needs OTHER"]
    assert not (place / "build").exists()


def test_steps_are_chosen_by_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With wildcards; a name that is none is an error. The list says what is done."""
    known = [fake("a-1", "a.md"), fake("a-2", "b.md"), fake("b", "c.md")]
    assert run(place, known, "--only", "a-*") == 0
    assert done(place) == ["a-1", "a-2"]
    capsys.readouterr()
    assert run(place, known, "--list") == 0
    assert ["done" in line for line in capsys.readouterr().out.splitlines()] == [True, True, False]
    with pytest.raises(SystemExit, match="no step is called c"):
        run(place, known, "--only", "c")


@pytest.mark.parametrize("arguments", [[], ["--data", "no-such-folder"]])
def test_without_data_the_message_says_what_to_do(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """As make passes on an empty variable."""
    with pytest.raises(SystemExit) as ended:
        runner.main(arguments)
    assert ended.value.code == 2
    assert "--data" in capsys.readouterr().err


def test_a_trial_writes_nowhere_else(place: Path) -> None:
    """The real tables are never replaced by those of small selections; real runs write to them."""
    options = runner.parse(["--data", str(place / "data"), "--quick", "--build", str(place / "build")])
    quick = runner.Place.of(options)
    assert quick.results.is_relative_to(place / "build")
    assert quick.pictures.is_relative_to(place / "build")
    assert quick.state.is_relative_to(place / "build")
    real = runner.Place.of(runner.parse(["--data", str(place / "data")]))
    assert real.results == real.state.parent == ROOT / "benchmarks/results"


def test_every_table_has_a_step() -> None:
    """What no step writes is a record of the past; every instance of the frontier is in one step; names are unique."""
    past = {"convergence.md", "redesign.md", "large_whole.md", "sizes_blocks.md"}
    written = {pattern for step in steps() for pattern in step.writes}
    tables = {path.name for path in (ROOT / "benchmarks" / "results").glob("*.md")}
    assert {name for name in tables - past if not any(fnmatch(name, pattern) for pattern in written)} == set()
    names = [step.name for step in steps()]
    assert len(set(names)) == len(names)
    assert all(set(step.after) <= set(names[:number]) for number, step in enumerate(steps()))


def test_every_instance_of_the_frontier_is_in_one_step() -> None:
    """Otherwise its row would be of another run, or measured twice."""
    pytest.importorskip("resource")  # not on Windows
    from benchmarks.suite.frontier import goals  # noqa: PLC0415

    for goal in goals():
        assert sum(fnmatch(goal.name, f"{beginning} *") for beginning in FRONTIER) == 1
