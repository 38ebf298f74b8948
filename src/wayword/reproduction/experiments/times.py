"""Where the time went: what each artefact of this report took when it was made."""

from collections.abc import Mapping

from wayword.reproduction.report.exhibits import Column, Section, Table, Text

NAME = "time"


def section(stages: Mapping[str, str], times: Mapping[str, Mapping[str, float]]) -> Section:
    """`stages` are the artefacts of this report by stage, `times` what each took."""
    known = {stage: times[artefact] for stage, artefact in stages.items() if artefact in times}
    total = sum(time["seconds"] for time in known.values())
    rows = tuple(
        (stage, time["seconds"], time["seconds"] / total if total else 0.0)
        for stage, time in sorted(known.items(), key=lambda item: -item[1]["seconds"])
    )
    peak = max((time["peak_bytes"] for time in known.values()), default=0.0)
    return Section(
        NAME,
        "Where the time went",
        (
            Text(
                f"All steps together took {total / 60:.1f} minutes on this machine and at most {peak / 1e9:.1f} GB of "
                "memory. One feature matrix serves every kind of label, so a further label costs one fit. What was "
                "already in the workspace is counted with the time that it took then. These are the only numbers, "
                "with the cost of the encoders, that differ between two runs of the same seed."
            ),
            Table(
                "time_steps",
                "Seconds by step",
                (Column("Step"), Column("Seconds", digits=1), Column("Share", digits=2)),
                rows,
            ),
        ),
    )
