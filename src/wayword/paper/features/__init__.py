"""What the ranker knows of a context and a query: a family of text encoders, and `pairs.Featuriser`."""

from collections.abc import Sequence
from pathlib import Path

from wayword.config import FeaturesConfig
from wayword.errors import WorkspaceError
from wayword.paper.features.encoder import SETTINGS, Encoder, read_settings
from wayword.paper.features.light import LightEncoder
from wayword.paper.features.transformer import TransformerEncoder

ENCODERS: dict[str, type[LightEncoder] | type[TransformerEncoder]] = {
    "light": LightEncoder,
    "transformer": TransformerEncoder,
}


def make_encoder(texts: Sequence[str], config: FeaturesConfig) -> Encoder:
    """The encoder that the settings ask for; the light one learns from `texts`."""
    if config.encoder == "light":
        return LightEncoder.fit(texts, config.dimensions, config.seed)
    return TransformerEncoder.from_pretrained(config.encoder)


def load_encoder(folder: Path) -> Encoder:
    """Open a saved encoder, whichever member it is."""
    kind = read_settings(folder / SETTINGS).get("kind")
    if kind not in ENCODERS:
        raise WorkspaceError(
            f"Found encoder {kind!r} in {folder}; expected one of {', '.join(ENCODERS)}. "
            "Train the ranker again."
        )
    return ENCODERS[kind].load(folder)
