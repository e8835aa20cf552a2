from __future__ import annotations

import importlib
import logging
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numba
import numpy as np
import pytest
from numba.core import config

import certimeans
from certimeans._typing import FloatArray
from certimeans.cli import main
from certimeans.compilation import compiled, compiled_inside, compiled_without_allocation, internals, storage
from certimeans.compilation.folders import choose_folder, user_folder
from certimeans.compilation.preparation import NOTE, WAITING, Preparation
from certimeans.compilation.sources import digest, top_package
from certimeans.heuristics.chains import swap_chains
from certimeans.heuristics.ejections import grow_trees
from certimeans.heuristics.moves import move_freely, sweep_freely
from certimeans.warmup import ALL_PARTS


@compiled
def _double(x: int) -> int:
    return 2 * x


@compiled
def _calls_with_constants(n: int) -> int:
    target = -1
    for i in range(n):
        if i == 2:
            target = i
    return _double(0) + _double(-1) + _double(target)


# Private parts of numba: these tests fail when a newer numba changes what certimeans.compilation.internals relies on.


def test_a_function_called_with_constants_is_compiled_once() -> None:
    """Not once for the number 0, once for -1 and once for any integer, as numba does by itself."""
    assert _calls_with_constants(5) == 2
    cast("Any", _calls_with_constants).recompile()  # else stored code may have been loaded
    assert len(cast("Any", _double).signatures) == 1


def test_hot_functions_must_not_create_arrays() -> None:
    """The compiler itself refuses them: numba's private option still switches its run-time off."""

    @compiled_without_allocation
    def allocate(n: int) -> FloatArray:
        return np.zeros(n)

    assert internals.NO_ALLOCATION == {"_nrt": False}
    with pytest.raises(numba.core.errors.NumbaError):
        allocate(3)


@compiled_inside
def _triple(x: int) -> int:
    return 3 * x


@compiled_without_allocation
def _six_times(x: int) -> int:
    return 2 * _triple(x)


def test_what_sweeps_call_for_every_point_is_compiled_into_them() -> None:
    """A call copies tuples of arrays: the search took a sixth longer while one of these was called."""
    for function in (move_freely, sweep_freely, grow_trees, swap_chains):
        assert cast("Any", function).targetoptions["inline"] == "always"


def test_what_is_for_compiled_code_cannot_be_called_from_python() -> None:
    """It has no entry for Python: without our refusal the process would end, also after compiled code has called it."""
    for _ in range(2):
        with pytest.raises(TypeError, match="_triple is for compiled code only"):
            _triple(2)
        assert _six_times(2) == 12


def test_numba_asks_our_store() -> None:
    """What a function compiles goes to the store that stands in for numba's own."""
    asked = []

    class Store:
        cache_path = None

        def load_overload(self, *_: Any) -> None:
            asked.append("load")

        def save_overload(self, *_: Any) -> None:
            asked.append("save")

    dispatcher = numba.njit(lambda x: x)
    internals.keep_machine_code(dispatcher, Store())
    assert dispatcher(1) == 1
    assert asked == ["load", "save"]


def test_a_numba_without_its_private_parts_compiles_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The import works, and functions stay as numba made them."""
    monkeypatch.delattr("numba.core.cpu.CPUTargetOptions")
    monkeypatch.delattr("numba.core.caching.FunctionCache")
    parts = runpy.run_path(internals.__file__)
    assert parts["NO_ALLOCATION"] == {}
    assert internals.can_keep_machine_code()
    assert not parts["can_keep_machine_code"]()
    for name, argument in (
        ("ignore_literals", ()),
        ("keep_machine_code", (object(),)),
        ("refuse_calls_from_python", ()),
    ):
        dispatcher = SimpleNamespace()
        parts[name](dispatcher, *argument)
        assert vars(dispatcher) == {}


def test_compilation_switched_off_leaves_plain_functions() -> None:
    """NUMBA_DISABLE_JIT is for debuggers; there is nothing to prepare then."""
    code = """
        from certimeans.compilation import compiled, inlined
        from certimeans.compilation.preparation import Preparation
        print(compiled(inlined(lambda x: 2 * x))(3), Preparation().run({"part": lambda: print("run")}))
    """
    assert _python(code, NUMBA_DISABLE_JIT="1").stdout.split() == ["6", "False"]


def test_code_for_any_processor_is_found_on_every_machine() -> None:
    """Images that run on several kinds of processors are built with numba's setting for what these have in common."""
    code = "from certimeans.compilation.internals import describe_machine; print(describe_machine())"
    assert _python(code, NUMBA_CPU_NAME="generic").stdout.strip().endswith("|generic|")
    assert not _python(code).stdout.strip().endswith("|generic|")


def test_a_numba_that_keeps_nothing_for_us_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then every process compiles before its clock starts, as where there is no folder."""
    monkeypatch.setattr(storage, "can_keep_machine_code", lambda: False)
    folder = storage.folder.__wrapped__()
    assert folder.path is None
    assert "numba" in folder.remark


# Where machine code is kept.


def _never(_: Path) -> bool:
    return False


def test_named_folders_come_first(tmp_path: Path) -> None:
    """CERTIMEANS_CACHE_DIR, NUMBA_CACHE_DIR, then the user's cache folder; none of them is worth a remark."""
    environment = {"XDG_CACHE_HOME": str(tmp_path / "x"), "HOME": str(tmp_path)}
    assert user_folder({"HOME": str(tmp_path)}) == tmp_path / ".cache/certimeans"
    for more, expected in (
        ({}, tmp_path / "x/certimeans"),
        ({"NUMBA_CACHE_DIR": str(tmp_path / "n")}, tmp_path / "n/certimeans"),
        ({"CERTIMEANS_CACHE_DIR": str(tmp_path / "c")}, tmp_path / "c"),
    ):
        environment.update(more)
        folder = choose_folder(environment, _never)
        assert (folder.path, folder.is_writable, folder.remark) == (expected, True, "")


def test_an_unusable_named_folder_is_named(tmp_path: Path) -> None:
    """Whoever sets the variable learns why it has no effect."""
    (tmp_path / "file").touch()
    environment = {"CERTIMEANS_CACHE_DIR": str(tmp_path / "file"), "XDG_CACHE_HOME": str(tmp_path)}
    folder = choose_folder(environment, _never)
    assert folder.path == tmp_path / "certimeans"
    assert f"CERTIMEANS_CACHE_DIR {tmp_path / 'file'} cannot be written" in folder.remark


def test_the_temporary_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded from a folder that others could have written to, nor through a link."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = {"HOME": "/nonexistent"}
    folder = choose_folder(environment, _never)
    assert folder.path == tmp_path / f"certimeans-{os.geteuid()}"
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert str(folder.path) in folder.remark
    folder.path.chmod(0o777)
    assert choose_folder(environment, _never).path is None
    folder.path.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o700)
    folder.path.symlink_to(tmp_path / "elsewhere")
    nowhere = choose_folder(environment, _never)
    assert nowhere.path is None
    assert "every process compiles anew" in nowhere.remark


def test_our_state_depends_on_sources_with_compiled_functions_and_what_they_import(tmp_path: Path) -> None:
    """A change of what is compiled, or of a constant that is compiled in, counts; a change elsewhere does not."""
    package = _tiny_package(tmp_path)
    assert top_package(package / "caller.py") == package

    def after(name: str, text: str) -> str:
        (package / name).write_text(text)
        digest.cache_clear()
        return digest(package)

    states = [digest(package), after("constants.py", "FACTOR = 3\n")]
    assert states[0] != states[1]
    assert after("constants.py", "FACTOR = 2\n") == states[0]
    assert after("other.py", "# not compiled\n") == states[0]
    relative = (package / "callee.py").read_text().replace("from tiny.constants", "from .constants")
    states.append(after("callee.py", relative))
    assert after("constants.py", "FACTOR = 3\n") != states[-1]


def test_an_edited_function_in_another_file_is_compiled_again(tmp_path: Path) -> None:
    """Its caller's own file did not change, and numba would go on with the old machine code."""
    package = _tiny_package(tmp_path)
    code = "from tiny.caller import call, stats; print(call(3), *stats())"

    def run() -> list[str]:
        return _python(
            code, PYTHONPATH=f"{_SOURCES}:{tmp_path}", CERTIMEANS_CACHE_DIR=str(tmp_path / "c")
        ).stdout.split()

    assert run() == ["6", "0", "1"]  # the answer, hits, misses
    assert run() == ["6", "1", "0"]
    (package / "constants.py").write_text("FACTOR = 5\n")
    assert run() == ["15", "0", "1"]


def test_damaged_machine_code_is_compiled_again(tmp_path: Path) -> None:
    """As after a power cut."""
    _tiny_package(tmp_path)
    code = "from tiny.caller import call, stats; print(call(3), *stats())"
    environment = {"PYTHONPATH": f"{_SOURCES}:{tmp_path}", "CERTIMEANS_CACHE_DIR": str(tmp_path / "c")}
    _python(code, **environment)
    for suffix in ("nbi", "nbc"):
        for path in (tmp_path / "c").rglob(f"*.{suffix}"):
            path.write_bytes(b"")
        assert _python(code, **environment).stdout.split() == ["6", "0", "1"]
        assert _python(code, **environment).stdout.split() == ["6", "1", "0"]


def test_machine_code_that_cannot_be_written_is_lost_with_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A full disk does not end a computation."""

    class Full:
        cache_path = "somewhere"

        def load_overload(self, *_: Any) -> None:
            return None

        def save_overload(self, *_: Any) -> None:
            raise OSError(28, "No space left on device", f"file {len(storage._LOST)}")

    monkeypatch.setattr(storage, "numba_cache", lambda *_, **__: Full())
    monkeypatch.setattr(storage, "_LOST", [])

    def triple(x: int) -> int:
        return 3 * x

    functions = [compiled(triple), compiled(triple)]
    assert [function(2) for function in functions] == [6, 6]
    assert not storage.is_everything_kept()
    assert [record.getMessage().count("No space left") for record in caplog.records] == [1]


def test_only_a_new_state_removes_old_ones(tmp_path: Path) -> None:
    """The five used last stay, and so does what was used within a day; an import removes nothing."""
    base = tmp_path / "c"
    for age in range(9):
        (base / f"certimeans-{age}").mkdir(parents=True)
        moment = time.time() - 86_400 * age - 60
        os.utime(base / f"certimeans-{age}", (moment, moment))
    code = "from certimeans.compilation.storage import state_folder; import certimeans.solver; {}"
    _python(code.format("pass"), CERTIMEANS_CACHE_DIR=str(base))
    assert len(list(base.iterdir())) == 9
    for _ in range(2):
        _python(code.format("state_folder()"), CERTIMEANS_CACHE_DIR=str(base))
        assert sorted(path.name for path in base.iterdir() if len(path.name) == 12) == [
            f"certimeans-{age}" for age in range(5)
        ]


def test_other_packages_caches_do_not_move() -> None:
    """What numba was told about its own cache is as it was."""
    assert os.environ.get("NUMBA_CACHE_DIR", "") == config.CACHE_DIR


# The first run.


def test_each_part_is_run_once_for_all_processes(tmp_path: Path) -> None:
    """The first process says that it takes a while, once; later ones find its mark, and are quick to."""
    code = """
        import time
        from certimeans.compilation.preparation import Preparation
        preparation = Preparation()
        parts = {"a": lambda: print("a"), "b": lambda: print("b")}
        print(preparation.run({"a": parts["a"]}), preparation.run(parts), preparation.run(parts))
    """
    first, second = (_python(code, CERTIMEANS_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout.split() == ["a", "b", "True", "True", "False"]
    assert first.stderr.splitlines() == [NOTE]
    assert (second.stdout.split(), second.stderr) == (["False", "False", "False"], "")


def test_looking_whether_all_is_prepared_takes_no_time(isolated: Path) -> None:
    """Less than a millisecond, also where the mark was left by another process."""
    Preparation().run({"part": int}, tell=str)
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        assert not Preparation().run({"part": int})
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 1e-3
    assert (isolated / "state").exists()


def test_a_part_that_fails_is_run_again(isolated: Path) -> None:
    """Nothing is marked as done that was not; an interrupted first run leaves no trace."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    preparation = Preparation()
    with pytest.raises(KeyboardInterrupt):
        preparation.run({"part": interrupt}, tell=str)
    assert not list(isolated.rglob("ready-*"))
    assert preparation.run({"part": int}, tell=str)


@pytest.mark.usefixtures("isolated")
def test_a_part_may_call_what_prepares() -> None:
    """As the warm-up does: it solves, and solving prepares."""
    preparation = Preparation()
    inner = []
    assert preparation.run({"part": lambda: inner.append(preparation.run({"other": int}))}, tell=str)
    assert inner == [False]


@pytest.mark.usefixtures("isolated")
def test_two_threads_prepare_once() -> None:
    """The second waits for the first."""
    preparation = Preparation()
    runs: list[int] = []

    def part() -> None:
        time.sleep(0.05)
        runs.append(1)

    threads = [threading.Thread(target=lambda: preparation.run({"part": part}, tell=str)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs == [1]


def test_without_a_place_each_process_prepares_in_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Python users are told through the logger, whose warnings Python prints unless told otherwise."""
    for name in ("folder", "state_folder"):
        monkeypatch.setattr(f"certimeans.compilation.preparation.{name}", _NOWHERE[name])
    preparation = Preparation()
    with caplog.at_level(logging.WARNING, "certimeans"):
        assert preparation.run({"part": int})
        assert not preparation.run({"part": int})
    assert [record.getMessage() for record in caplog.records] == ["nowhere", NOTE]


@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize(("options", "notes"), [((), 1), (("--quiet",), 0)])
def test_the_command_line_says_it_once(
    options: tuple[str, ...],
    notes: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not again from inside the solve, and not at all where nobody wants to hear."""
    monkeypatch.setattr("certimeans.warmup._PREPARATION", Preparation())
    monkeypatch.setattr("certimeans.warmup._parts_for", lambda _: {"part": int})
    (tmp_path / "points.csv").write_text("0\n1\n5\n6\n")
    assert main(["solve", str(tmp_path / "points.csv"), "-k", "2", *options]) == 0
    assert capsys.readouterr().err.count(NOTE) == notes
    assert caplog.records == []


@pytest.mark.usefixtures("isolated")
def test_the_warm_up_command_says_where_and_how_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second time there is nothing to do."""
    monkeypatch.setattr("certimeans.warmup._PREPARATION", Preparation())
    monkeypatch.setattr("certimeans.warmup.ALL_PARTS", {"part": int})
    state = str(storage.state_folder())
    assert main(["warmup"]) == 0
    printed = capsys.readouterr()
    assert printed.err == f"note: {NOTE}\n"
    assert printed.out.startswith("compiled in 0.0 s; ")
    assert state in printed.out
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out == f"all was compiled before; the machine code is in {state}\n"


def test_half_of_the_parts_are_left_to_a_helper(isolated: Path) -> None:
    """Of their time; what a helper leaves undone, because it died, is run here after all."""
    asked: list[list[str]] = []
    run: list[str] = []

    def start(code: str) -> Callable[[Sequence[str]], subprocess.Popen[bytes]]:
        def helper(names: Sequence[str]) -> subprocess.Popen[bytes]:
            asked.append(list(names))
            return subprocess.Popen(
                [sys.executable, "-c", code.format(isolated / "state" / f"ready-{storage.machine()}")]
            )

        return helper

    parts = {name: partial(run.append, name) for name in ("a", "b", "c", "d")}
    dies = Preparation(start("raise SystemExit(1)"))
    assert dies.run(parts, tell=str)
    assert (asked, run) == ([["b", "d"]], ["a", "c", "b", "d"])
    for marker in isolated.rglob("ready-*"):
        marker.unlink()
    works = Preparation(start("for name in 'bd': open('{}-' + name, 'w').close()"))
    assert works.run(parts, tell=str)
    assert run[4:] == ["a", "c"]
    assert not works.run(parts, tell=str)


def test_both_processes_end_at_about_the_same_time() -> None:
    """The longest part stays here, where nothing has to be started first."""
    preparation = Preparation(None, {"long": 10.0, "half": 6.0, "less": 4.0, "short": 0.5})
    assert preparation._half(["less", "half", "long", "short"]) == ["half", "less"]
    assert preparation._half(["less", "half"]) == ["less"]
    assert preparation._half(["long"]) == []


def test_a_helper_ends_with_whoever_started_it(isolated: Path) -> None:
    """Ctrl-C leaves no process behind."""
    processes = []

    def helper(_: Sequence[str]) -> subprocess.Popen[bytes]:
        processes.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        return processes[0]

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Preparation(helper).run({"a": interrupt, "b": int}, tell=str)
    assert processes[0].poll() is not None
    assert not list(isolated.rglob("ready-*"))


@pytest.mark.parametrize(("links", "nodes"), [("", 1), ("cannot_link=[(0, 1), (1, 2), (3, 9)]", 9)])
def test_a_solve_needs_no_more_than_the_parts_for_it(links: str, nodes: int) -> None:
    """Without links, the search for clusterings in children, which have some, compiles when a child needs it."""
    code = f"""
        import sys, numpy as np, certimeans
        from certimeans import warmup
        def functions():
            modules = [module for name, module in sys.modules.items() if name.startswith("certimeans.")]
            found = {{id(f): f for m in modules for f in vars(m).values() if hasattr(f, "signatures")}}.values()
            return {{f.py_func.__name__ for f in found if f.signatures}}
        points = np.random.default_rng(3).normal(size=(30, 3))
        warmup._PREPARATION.run_here(warmup._parts_for(certimeans.Instance.create(points, 4, {links})))
        before = functions()
        certimeans.solve(points, 4, gap=1e-9, max_nodes={nodes}, {links})
        print(sorted(functions() - before))
    """
    assert _python(code).stdout.strip() == "[]"


_NOWHERE: dict[str, Callable[[], Any]] = {
    "folder": lambda: SimpleNamespace(path=None, is_writable=False, remark="nowhere"),
    "state_folder": lambda: None,
}


_SLOW = """
    import sys, time
    from certimeans.compilation.preparation import Preparation
    def part():
        print("begun", flush=True)
        time.sleep(float(sys.argv[1]))
    print(Preparation().run({"part": part}))
"""


def test_two_first_runs_at_once_compile_once(tmp_path: Path) -> None:
    """The second says that it waits, and then finds all done."""
    with _start(_SLOW, "5", CERTIMEANS_CACHE_DIR=str(tmp_path)) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        second = _python(_SLOW, "0", CERTIMEANS_CACHE_DIR=str(tmp_path))
        assert first.wait() == 0
    assert second.stdout.split() == ["False"]
    assert second.stderr.splitlines() == [WAITING]


def test_a_child_that_outlives_its_run_does_not_keep_the_turn(tmp_path: Path) -> None:
    """A fork inherits open files, but not the turn to compile."""
    forks = _SLOW.replace("def part():", "def part():\n        import os\n        child = os.fork()")
    forks = forks.replace('print("begun", flush=True)', 'print("begun", child, flush=True) if child else None')
    with _start(forks, "60", CERTIMEANS_CACHE_DIR=str(tmp_path)) as first:
        assert first.stdout is not None
        child = int(first.stdout.readline().split()[1])
        try:
            first.send_signal(signal.SIGKILL)
            second = _python(_SLOW, "0", CERTIMEANS_CACHE_DIR=str(tmp_path))
        finally:
            os.kill(child, signal.SIGKILL)
    assert second.stdout.split() == ["begun", "True"]


def test_nobody_waits_for_long(tmp_path: Path) -> None:
    """A run that compiles for longer than that is not waited for: both compile."""
    impatient = _SLOW.replace(
        "def part", "import certimeans.compilation.preparation as it\n    it._SECONDS_TO_WAIT = 0.3\n    def part"
    )
    with _start(_SLOW, "60", CERTIMEANS_CACHE_DIR=str(tmp_path)) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        second = _python(impatient, "0", CERTIMEANS_CACHE_DIR=str(tmp_path))
        first.kill()
    assert second.stdout.split() == ["begun", "True"]
    assert second.stderr.splitlines() == [WAITING, NOTE]


def test_a_first_run_that_dies_leaves_the_turn_to_the_next(tmp_path: Path) -> None:
    """At once, without a time limit: the system knows that the process is gone."""
    with _start(_SLOW, "60", CERTIMEANS_CACHE_DIR=str(tmp_path)) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        with _start(_SLOW, "0", CERTIMEANS_CACHE_DIR=str(tmp_path)) as second:
            assert second.stderr is not None
            assert second.stderr.readline().strip() == WAITING
            first.send_signal(signal.SIGKILL)
            output, errors = second.communicate(timeout=20)
    assert output.split() == ["begun", "True"]
    assert errors.splitlines() == [NOTE]


def test_the_warm_up_calls_every_compiled_function() -> None:
    """So that nothing is left to compile once a clock runs; extend certimeans/warmup.py for new functions."""
    for part in ALL_PARTS.values():
        part()
    functions = _compiled_functions()
    # Machine code that was loaded, not compiled, holds the functions that it calls: these were never asked for.
    waiting = [function for function in functions.values() if function.signatures]
    reached = {id(function) for function in waiting}
    while waiting:
        plain = waiting.pop().py_func
        for name in plain.__code__.co_names:
            inner = plain.__globals__.get(name)
            if hasattr(inner, "py_func") and id(inner) not in reached:
                reached.add(id(inner))
                waiting.append(inner)
    called = {name for name, function in functions.items() if id(function) in reached}
    assert sorted(functions.keys() - called) == [], "not called"


def test_machine_code_is_loaded_without_the_compiler() -> None:
    """What numba's compiler needs takes a fifth of a second to load; the code of all functions runs without."""
    code = """
        import sys
        from certimeans.warmup import ALL_PARTS, run_parts
        run_parts(list(ALL_PARTS))
        print("numba.np.arraymath" in sys.modules)
    """
    _python(code)  # compiles what is not kept yet
    assert _python(code).stdout.split() == ["False"]


def test_solves_compile_nothing_that_the_warm_up_did_not() -> None:
    """Whatever the kind of problem: weights, dense constraints, more features than points, several processes."""
    for part in ALL_PARTS.values():
        part()
    random = np.random.default_rng(1)
    points = random.normal(size=(24, 3))
    pairs = [(i, j) for i in range(24) for j in range(i) if random.random() < 0.25]
    before = {name: len(function.signatures) for name, function in _compiled_functions().items()}
    certimeans.solve(np.asfortranarray(points), 3, sample_weight=random.uniform(1, 2, 24))
    certimeans.solve(random.normal(size=(24, 60)), 3, initial_labels=np.arange(24) % 3)
    certimeans.solve(points, 8, cannot_link=pairs, max_nodes=4)
    certimeans.solve(points[:, :1], 2, must_link=[(0, 1)], cannot_link=[(1, 2), (2, 3)], n_jobs=2)
    assert {name: len(function.signatures) for name, function in _compiled_functions().items()} == before


def test_importing_the_package_is_quick() -> None:
    """It brings neither numba nor the solver along."""
    code = """
        import sys, time
        began = time.perf_counter()
        import certimeans
        print(time.perf_counter() - began, "numba" in sys.modules)
    """
    runs = [_python(code).stdout.split() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in runs) < 0.1
    assert {numba for _, numba in runs} == {"False"}


_DISPATCHER: Any = type(_double)
_SOURCES = Path(certimeans.__file__).parents[1]


@pytest.fixture
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let preparations leave their marks in a folder of the test."""
    (tmp_path / "state").mkdir()
    monkeypatch.setattr(
        "certimeans.compilation.preparation.folder", lambda: SimpleNamespace(path=tmp_path, is_writable=True, remark="")
    )
    monkeypatch.setattr("certimeans.compilation.preparation.state_folder", lambda: tmp_path / "state")
    return tmp_path


def _compiled_functions() -> dict[str, Any]:
    """Find those with machine code of their own; what is inlined has none."""
    functions = {}
    for module in pkgutil.walk_packages(certimeans.__path__, "certimeans."):
        if not module.name.endswith("__main__"):
            values: list[Any] = list(vars(importlib.import_module(module.name)).values())
            for value in values:
                if isinstance(value, _DISPATCHER) and value.targetoptions.get("inline") != "always":
                    functions[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return {name: function for name, function in functions.items() if name.startswith("certimeans.")}


def _tiny_package(folder: Path) -> Path:
    """Write a package whose compiled function calls one in another file, which uses a constant of a third."""
    package = folder / "tiny"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "constants.py").write_text("FACTOR = 2\n")
    (package / "other.py").touch()
    (package / "callee.py").write_text(
        "from certimeans.compilation import inlined\n"
        "from tiny.constants import FACTOR\n"
        "@inlined\ndef multiply(x):\n    return FACTOR * x\n"
    )
    (package / "caller.py").write_text(
        "from certimeans.compilation import compiled\n"
        "from tiny.callee import multiply\n"
        "@compiled\ndef call(x):\n    return multiply(x)\n"
        "def stats():\n"
        "    return sum(call.stats.cache_hits.values()), sum(call.stats.cache_misses.values())\n"
    )
    return package


def _start(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(_SOURCES), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    with _start(code, *arguments, **environment) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    return subprocess.CompletedProcess(process.args, 0, output, errors)
