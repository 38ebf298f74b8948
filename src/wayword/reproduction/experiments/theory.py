"""The theory as a section of the report: what holds, in numbers, and where the paper must be read with care."""

from wayword.reproduction.experiments import theory_figures as drawn
from wayword.reproduction.experiments import theory_tables as listed
from wayword.reproduction.report.exhibits import Exhibit, Section, Text
from wayword.reproduction.theory import Theory


def section(theory: Theory) -> Section:
    """The whole section."""
    return Section(
        name="theory",
        title="The theory in numbers",
        exhibits=(
            *introduction(theory),
            *estimator(theory),
            *bounds(theory),
            *learning(theory),
            *care(theory),
        ),
    )


def introduction(theory: Theory) -> tuple[Exhibit, ...]:
    """The world that everything is measured in."""
    return (
        Text(
            "The propositions and the theorem of the paper's sections 4 and 5, checked in a tiny world "
            "whose truth is known "
            "exactly. A "
            "person in a context issues one of a few queries, looks at one rank of the result page (rank k with "
            "probability p[k] ∝ 1/k), and clicks if the document there is relevant. Whatever can happen can be "
            f"counted, so measurements stand beside exact values. Seed {theory.seed}, effort {theory.effort:g}."
        ),
    )


def estimator(theory: Theory) -> tuple[Exhibit, ...]:
    """Propositions 1 to 3."""
    return (
        Text("The estimator is unbiased, per search (Proposition 1)", "heading"),
        Text(
            "û(q) = Σ over the clicked a of p[rank_q(a)] / p[rank_q̄(a)]. Its mean over *all* searches of the logged "
            "query q̄ meets Σ p[rank_q(a)] over the relevant documents a that q̄ returns. What q̄ does not return is "
            f"invisible: {theory.unbiasedness.invisible:.0%} of the utility in this world."
        ),
        drawn.unbiasedness_figure(theory.unbiasedness),
        listed.unbiasedness_table(theory.unbiasedness),
        Text("Its variance is bounded by B (Proposition 3)", "heading"),
        Text("B is the largest p[rank_q(a)] / p[rank_q̄(a)] over the relevant documents that q̄ returns."),
        drawn.variance_figure(theory.variance),
        listed.variance_table(theory.variance),
        Text("And by nothing else (Proposition 2)", "heading"),
        drawn.unbounded_figure(theory.unbounded),
        listed.unbounded_table(theory.unbounded),
    )


def bounds(theory: Theory) -> tuple[Exhibit, ...]:
    """Bias against variance."""
    return (
        Text("A bound trades bias for variance", "heading"),
        drawn.bounding_figure(theory.bounding),
        listed.bounding_table(theory.bounding),
    )


def learning(theory: Theory) -> tuple[Exhibit, ...]:
    """Theorem 1."""
    found = theory.generalization
    return (
        Text("Learning converges (Theorem 1)", "heading"),
        Text(
            "The rankers are all S_w(x, q) = w·φ(x, q) with two features; they change only at finitely many angles of "
            f"w, so the best of them ({found.rankers} in all) is found exactly, on a log and in truth. The gain of a "
            "ranker is the mean over contexts and pairs q, q′ of (u(x,q) − u(x,q′)) · S, S = 1 if q goes first and "
            "−1 if not; in each search the logged query is any of the candidates."
        ),
        drawn.generalization_figure(found),
        listed.generalization_table(found),
        Text(
            "The theorem is a worst case over all worlds. In one world, with rankers that are apart by some margin, a "
            "log finds one of the best ever more surely, and the excess falls faster than 1/√n."
        ),
    )


def care(theory: Theory) -> tuple[Exhibit, ...]:
    """Where the paper's text needs reading with care."""
    padding = theory.padding
    broken = padding.candidates[padding.excess > padding.bound]
    mended = bool((padding.excess <= padding.mended).all())
    found = (
        f"at K = {', '.join(map(str, broken))} the excess is above the stated bound"
        if len(broken)
        else "at none of the K below is the excess above the stated bound"
    )
    items = (
        "**Per search, not per click.** The paper's log has clicks only. Unbiasedness (Proposition 1) is over all "
        "searches, those without a click counting 0; over clicks alone the mean is divided by u(x, q̄). With one "
        "logged query that is a scale; over several it mixes scales.",
        "**What the logged query does not return.** Proposition 1 sums over all relevant a ∈ q, but o(q̄, a) is never 1 "
        "for an a that q̄ does not return. Assumption 5, read strictly, rules this out (p_q/0 is not below B): all "
        "candidates would return the same relevant documents. We take B over what q̄ returns, and report the rest.",
        "**One look per search.** u as the probability of *some* click is Σ p only if no two documents are looked at "
        "in one search. The proof of Proposition 2 uses that (o·o′ = 0), and û ≤ B needs it.",
        "**Which u is in the variance bound.** It is E û, the visible part: B·t − t² falls from t = B/2 on, and with "
        "the whole u the bound can be too small.",
        "**The variance of one shared document** is p_q²/p_q̄ − p_q²; the proof of Proposition 2 prints p_q²/p_q̄². "
        "The conclusion stays: p_q̄ can be as small as one likes.",
        "**A gain, called a loss.** Δ̃ and L are larger for better rankers, but the paper minimises them. We maximise; "
        "the excess is L(S*) − L(Sₙ).",
        "**Pairs.** Theorem 1 counts unordered pairs; with ordered ones the gain and its excess would double.",
        "**Lemma 1** (the expected estimate of the gain is the gain) follows from Proposition 1 and so "
        "holds for visible "
        "utility only; the table has both.",
        "**ρₙ.** The proof needs the number of pairs, E[N(N−1)] / (K(K−1)) for N useful queries. (ρₙ/K)² with "
        "ρₙ = E N is smaller when ρₙ > K, and leaves out pairs of a useful and a useless query. With one useful query "
        f"and K − 1 that pad the list, {found}; counting those pairs, the bound "
        f"{'holds' if mended else '**fails too**'}. (B is taken over what q̄ returns, as above: read "
        "strictly, Assumption 5 "
        "makes B infinite as soon as a list is padded with queries that return nothing wanted, which the paper does.)",
    )
    return (
        Text("Where to read the paper with care", "heading"),
        *(Text(item, "item") for item in items),
        listed.padding_table(padding),
    )
