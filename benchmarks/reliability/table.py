"""The table of what was tried, from the records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.record import environments, markdown_table
from benchmarks.reliability.records import Record, Total, latest
from tests.oracles.tampering import FILE_TAMPERINGS, TAMPERINGS

_MUTATED, _TAMPERED = "mutated_certificates", "tampering"
_COMMAND = "python -m benchmarks.reliability.run"
_EXPLAINED = """\
A *try* is an instance with all its comparisons, a kill, a disk, a file, or a certificate. *Wrong* is whatever should
not be: another status or cost than enumeration has, a bound above the optimum, a certificate that is refused,
something left behind. Enumeration is in rational numbers. Seconds add up what processes took."""
_MUTANTS = """\
## Mutated certificates

{certificates} certificates of {kinds} kinds, and {mutants} mutants of them, each with one to three random mutations of
what it claims, of its instance (and its fingerprint made to fit), of the steps and arrays of its proof, of
`result.json`, or of the bytes of its files. Half of the mutants claim a bound of 0, and more than half of these no
clustering, so that nothing but the proof decides. One in ten is verified in ball arithmetic.

A mutant that is accepted is not wrong in itself: a weaker claim, a step that is there twice, or other data about
which the proof is just as good. *Wrong* is one of these, and every mutant that is accepted is tried for all of them:
the bound that the checker says is proven is above the least cost of *the instance that the mutant states*, by
enumeration in rational numbers; the labels break a constraint, or cost more than is said; the gap is larger than is
said; `result.json` says more; together with the original data (`verify --data`) a mutant about other data is
accepted, or one about the same data refused. So is anything but a clear refusal, such as a crash, and a certificate
that is refused before it is changed. For *thirty points*, which are too many to enumerate, the bound is compared with
the cost of the best clustering known instead, and that of other data with nothing; what else is said is judged in the
same way."""


def write_table(
    records: Sequence[Record], everything: Sequence[Record], target: Path, checks: Iterable[tuple[str, str, int]]
) -> None:
    """Write the table of records.

    Parameters
    ----------
    records
        Those that count.
    everything
        All that are on file, of which the others say what was found with other sources.
    checks
        Name, title and wanted number of seeds of each check.
    """
    kept = latest(records)
    rows = []
    for name, title, wanted in checks:
        own = [record for record in kept if record.check == name]
        if own:
            total, n_seeds = Total.of(own), sum(len(record.seeds) for record in own)
            share = "all" if n_seeds >= wanted else f"{100 * n_seeds / wanted:.0f} %"
            rows.append((title, total.tried, total.wrong, share, f"{total.seconds:.0f}", _note(total, name)))
    table = markdown_table(("what", "tried", "wrong", "of what is planned", "seconds", "note"), rows)
    sections = [
        "# Reliability: what was tried, and what went wrong",
        f"`{_COMMAND}`",
        _merged(kept),
        table,
        _EXPLAINED,
        *_mutants([record for record in kept if record.check == _MUTATED]),
        *_tampered([record for record in kept if record.check == _TAMPERED]),
        *_mended(everything, kept),
    ]
    target.write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def _note(total: Total, name: str) -> str:
    if name in {_MUTATED, _TAMPERED}:
        return "see below"
    seen = [f"{count} {what}" for what, count in sorted(total.counts.items())]
    return ", ".join(seen + [f"at most {value:g} {what}" for what, value in sorted(total.worst.items())])


def _merged(records: Sequence[Record]) -> str:
    if not records:
        return "Nothing was tried yet with the sources in use."
    commits = ", ".join(dict.fromkeys(record.commit for record in records))
    machine = environments((record.date, record.environment) for record in records)
    return (
        f"{machine}\n\nMerged from {len(records)} blocks of seeds, each with its commit in `reliability.jsonl`; the "
        f"last commits that changed the sources: {commits}."
    )


def _mutants(records: list[Record]) -> list[str]:
    if not records:
        return []
    total = Total.of(records)
    counts, tables = total.counts, []
    for group, header in (("kind", "certificate"), ("mutation", "mutated")):
        verdicts: dict[str, dict[str, int]] = defaultdict(dict)
        for name, count in counts.items():
            if name.startswith(f"{group}: "):
                _, what, verdict = name.split(": ", 2)
                verdicts[what][verdict] = count
        columns = ("refused", "accepted and true", "accepted and true of other data")
        rows = [
            (what, sum(found.values()), *(found.get(column, 0) for column in columns))
            for what, found in verdicts.items()
        ]
        tables.append(markdown_table((header, "mutants", *columns), sorted(rows)))
    kinds = {name.split(": ", 2)[1] for name in counts if name.startswith("kind: ")}
    said = _MUTANTS.format(certificates=counts.get("genuine", 0), kinds=len(kinds), mutants=total.tried)
    return [said, *tables, "A mutant with several mutations counts for each kind in the second table."]


def _tampered(records: list[Record]) -> list[str]:
    if not records:
        return []
    counts = Total.of(records).counts
    ending = ": rejected"
    rows = [(name.removesuffix(ending), count) for name, count in sorted(counts.items()) if name.endswith(ending)]
    tried = {name for name, _ in rows}
    never = sorted({name.replace("_", " ") for name in (*TAMPERINGS, *FILE_TAMPERINGS)} - tried)
    of = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()) if not name.endswith(ending))
    head = f"{len(rows)} kinds of tampering" + (f", with certificates: {of}." if of else ".")
    table = markdown_table(("tampering", "rejected"), rows)
    missing = f"Never tried, as none of these certificates has what they falsify: {', '.join(never)}."
    return ["## Tampering by name", head, table, *([missing] if never else [])]


def _mended(everything: Sequence[Record], kept: Sequence[Record]) -> list[str]:
    """List what went wrong with other sources, or in blocks that were tried again."""
    found = [
        f"- {record.check}, commit {record.commit}: {what}"
        for record in everything
        if record not in kept
        for what in record.wrong
    ]
    return (
        ["## Found on the way", "With other sources, or before a try was repeated:", "\n".join(found)] if found else []
    )
