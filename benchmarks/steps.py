"""The steps that make all tables of ``benchmarks/results/``, in the order in which ``benchmarks.all`` runs them."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.suite.large_instances import INSTANCES

__all__ = ["FOLDERS", "FRONTIER", "Step", "steps"]

FOLDERS = ("DATA", "PACKAGES", "OTHER", "WORK", "RESULTS")
"""Words in arguments that stand for folders; ``WORK`` is one of the step's own, kept until the step is done."""

FRONTIER = (
    "iris",
    "wine",
    "plane k=15",
    "plane k=30",
    "digits",
    "breast",
    "diabetes",
    "pulsar",
    "blobs",
    "uniform",
    "normal",
)
"""How the names of the frontier's instances begin, one step each."""

_FROM_PACKAGES = ("diamonds", "flights")
_IN_A_PICTURE = ("1m", 2)


@dataclass(frozen=True)
class Step:
    """A script with its arguments, and what it writes.

    Attributes
    ----------
    name
        What to call it.
    module
        What Python runs.
    arguments, quick
        For the real tables, and for a trial on small selections, which leaves the step out if there are none. Words of
        :data:`FOLDERS` and their beginnings of paths (``RESULTS/paper.csv``) are replaced.
    writes
        Files that must be new after the step, tables or pictures; patterns are allowed.
    after
        Steps whose results it reads.
    """

    name: str
    module: str
    arguments: tuple[str, ...]
    quick: tuple[str, ...] | None
    writes: tuple[str, ...]
    after: tuple[str, ...] = ()

    def words(self, *, is_quick: bool) -> list[str]:
        """Return module and arguments, folders by their words: what is the same on every machine."""
        return [self.module, *((self.quick or ()) if is_quick else self.arguments)]

    def needs(self, *, is_quick: bool) -> set[str]:
        """Return the folders that it cannot do without."""
        return {word.split("/")[0] for word in self.words(is_quick=is_quick)} & set(FOLDERS)


def steps() -> list[Step]:
    """Return all steps; what others read comes first, what takes longest comes last."""
    return [*_paper(), *_quick_ones(), *_peers(), *_versions(), *_frontier(), *_at_length(), *_large()]


def _paper() -> list[Step]:
    pictures = ("paper_times.png", "paper_profile.png", "paper_speed_up.png")
    work = ("--work", "WORK")
    iris = ("--datasets", "iris")
    return [
        Step(
            "paper",
            "benchmarks.suite.paper",
            ("DATA", "--jobs", "2", *work),
            ("DATA", "--jobs", "2", *work, "--datasets", "iris", "wine"),
            ("paper.md", "paper.csv", "paper.json", *pictures),
        ),
        Step(
            "upper-bounds",
            "benchmarks.suite.upper_bounds",
            ("DATA",),
            ("DATA", *iris),
            ("upper_bounds.md", "upper_bounds.csv"),
        ),
        Step(
            "heuristics",
            "benchmarks.suite.heuristics",
            ("DATA",),
            ("DATA", *iris, "--starts", "3"),
            ("heuristics.md", "heuristics.csv", "heuristic_gaps.png"),
            after=("paper",),
        ),
        Step(
            "evaluation",
            "benchmarks.suite.evaluation",
            ("DATA", "--time-limit", "60", "--starts", "10"),
            ("DATA", *iris, "--starts", "2"),
            ("evaluation.md",),
        ),
        Step("root-sizes", "benchmarks.suite.root_sizes", ("DATA",), ("DATA",), ("root_sizes.md",)),
    ]


def _quick_ones() -> list[Step]:
    root_bound = "benchmarks.micro.root_bound"
    small = ("--sizes", "2000", "--seconds", "2", "--jobs", "1")
    return [
        Step("presolve", "benchmarks.micro.presolve", (), (), ("presolve.md",)),
        Step("planted", "benchmarks.micro.planted", (), ("--streams", "7"), ("planted.md",)),
        Step("root-bound", root_bound, ("DATA", "--large"), ("DATA",), ("root_bound.md",)),
        Step("limits", "benchmarks.suite.limits", (), small, ("limits.md",)),
    ]


def _peers() -> list[Step]:
    tiny = ("--names", "iris 100 0 0", "--clarabel", "60", "--clarabel-cuts", "60", "--seconds", "5")
    packages = (
        "DATA",
        "--datasets",
        "iris",
        "wine",
        "seeds",
        "glass",
        "heart",
        "--starts",
        "5",
        "--package-limit",
        "240",
    )
    return [
        Step("peers", "benchmarks.micro.peers", ("DATA", "--seconds", "10"), ("DATA", *tiny), ("peers.md",)),
        Step(
            "exact-peer",
            "benchmarks.suite.exact_peer",
            ("DATA", "--time-limit", "10"),
            ("DATA", "--datasets", "iris", "--time-limit", "1"),
            ("exact_peer.md",),
        ),
        Step(
            "packages",
            "benchmarks.suite.packages",
            packages,
            ("DATA", "--datasets", "iris", "--starts", "1", "--package-limit", "30"),
            ("packages.md",),
        ),
    ]


def _versions() -> list[Step]:
    versions = "benchmarks.suite.versions"
    iris = ("--datasets", "iris", "wine")
    other = ("DATA", "--other", "OTHER", "--jobs", "2", "--work", "WORK")
    both = ("RESULTS/paper_other.csv", "RESULTS/paper.csv", "--names", "other version", "this version")
    return [
        Step(
            "versions",
            versions,
            ("OTHER", "DATA"),
            ("OTHER", "DATA", "--only", "iris 0", "--runs", "1"),
            ("versions.md",),
        ),
        Step(
            "versions-planted",
            versions,
            ("OTHER", "--runs", "1"),
            ("OTHER", "--runs", "1", "--only", "blobs, 1"),
            ("versions_planted.md",),
        ),
        Step("paper-other", "benchmarks.suite.paper", other, (*other, *iris), ("paper_other.csv", "paper_other.json")),
        Step(
            "compare",
            "benchmarks.suite.compare",
            both,
            both,
            ("compare.md", "compare.png"),
            after=("paper", "paper-other"),
        ),
    ]


def _frontier() -> list[Step]:
    found = []
    for beginning in FRONTIER:
        data = ("--data", "DATA", "--verify")
        quick = ("iris k=[23]", *data) if beginning == "iris" else None
        name = f"frontier-{beginning.replace(' k=', '-')}"
        arguments = (f"{beginning} *", *data)
        found.append(Step(name, "benchmarks.suite.frontier", arguments, quick, ("frontier.md", "frontier.csv")))
    return found


def _at_length() -> list[Step]:
    """List what takes long and cannot be divided."""
    return [
        Step(
            "sizes",
            "benchmarks.suite.sizes",
            ("DATA", "--jobs", "2"),
            ("DATA", "--jobs", "2", "--names", "iris", "--time-limit", "10"),
            ("sizes.md",),
        ),
        Step("reliability", "benchmarks.reliability.run", ("--jobs", "2"), ("--share", "0.002"), ("reliability.md",)),
        Step("sabotage", "benchmarks.reliability.sabotage", (), ("--seeds", "0:9"), ("sabotage.md",)),
        Step("killed-parts", "benchmarks.reliability.killed_parts", (), None, ("killed_parts.md",)),
        Step(
            "scaling",
            "benchmarks.suite.scaling",
            ("--again",),
            ("--again", "--quick", "--results", "RESULTS"),
            ("scaling.md", "scaling.jsonl", "scaling_*.png"),
        ),
    ]


def _large() -> list[Step]:
    """List the large instances, each gap to be reached a step of its own, and the clusterings alone."""
    found = []
    for instance in INSTANCES.values():
        for number, _ in enumerate(instance.targets):
            folders: tuple[str, ...] = ("--data", "DATA")
            folders += ("--packages", "PACKAGES") if instance.name in _FROM_PACKAGES else ()
            arguments = (instance.name, *folders, "--jobs", "2", "--target", str(number))
            if (instance.name, number) == _IN_A_PICTURE:
                arguments += ("--picture",)
            quick = (*arguments, "--time-limit", "30") if instance.name == "10000_2_05" else None
            name = f"large-{instance.name}" + (f"-{number}" if len(instance.targets) > 1 else "")
            writes = ("large.md", "large.jsonl", *(("large.png",) if "--picture" in arguments else ()))
            found.append(Step(name, "benchmarks.suite.large", arguments, quick, writes))
    return [
        *found,
        Step(
            "large-clusterings",
            "benchmarks.suite.large_clusterings",
            ("1m", "1m-links", "100k", "100k-links", "plane", "diamonds", "flights", "--packages", "PACKAGES"),
            ("20k", "--seconds", "5"),
            ("large_clusterings.md", "large_clusterings.json"),
        ),
    ]
