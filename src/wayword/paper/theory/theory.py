"""All checks of the paper's propositions and theorem from one seed, and their saved form."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from wayword.errors import WaywordError
from wayword.paper.theory import estimator, generalization
from wayword.paper.theory.estimator import Bounding, Unbiasedness, Unbounded, Variance
from wayword.paper.theory.generalization import Generalization, Padding
from wayword.paper.theory.model import make_world

FILE = "theory.json"


@dataclass(frozen=True)
class Theory:
    """The result of `theory`; `effort` scales how often is simulated."""

    seed: int
    effort: float
    unbiasedness: Unbiasedness
    variance: Variance
    unbounded: Unbounded
    bounding: Bounding
    generalization: Generalization
    padding: Padding


CHECKS: dict[str, Any] = {field.name: field.type for field in fields(Theory)[2:]}


def theory(seed: int, *, effort: float = 1.0) -> Theory:
    """Run every check; each simulates at least 30 times."""
    if not 0 < effort < np.inf:
        raise WaywordError(f"Found an effort of {effort}; expected a number above 0, such as 1.")
    worlds, *parts = np.random.default_rng(seed).spawn(6)
    world = make_world(worlds)
    large = make_world(worlds, contexts=24, queries=10)
    features = generalization.make_features(worlds, large)
    sizes = (1000, 2000, 4000, 2_000_000)
    hundreds, thousands, draws, millions = (max(30, round(n * effort)) for n in sizes)
    return Theory(
        seed,
        effort,
        estimator.unbiasedness(parts[0], world, logs=thousands, searches=2000),
        estimator.variance(parts[1], world, searches=millions),
        estimator.unbounded(parts[2], searches=millions),
        estimator.bounding(parts[3], world, logs=hundreds),
        generalization.generalization(parts[4], large, features, logs=thousands, draws=draws),
        generalization.padding(),
    )


def save(theory: Theory, folder: Path) -> None:
    """Write a theory into a folder, which is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(theory), default=np.ndarray.tolist)
    (folder / FILE).write_text(text, encoding="utf-8")


def load(folder: Path) -> Theory:
    """Read the output of `save`, bit for bit."""
    read = json.loads((folder / FILE).read_text(encoding="utf-8"))
    for name, check in CHECKS.items():
        read[name] = check(**{k: np.array(v) if isinstance(v, list) else v for k, v in read[name].items()})
    return Theory(**read)
