"""Features of the ranker: text encoders, and the `ranker_features.Featuriser` of contexts and queries."""

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
    """Return the encoder of the settings; the light one is fitted to `texts`."""
    if config.encoder == "light":
        return LightEncoder.fit(texts, config.dimensions, config.seed)
    return TransformerEncoder.from_pretrained(config.encoder)


def load_encoder(folder: Path) -> Encoder:
    """Read a saved encoder of any kind."""
    kind = read_settings(folder / SETTINGS).get("kind")
    if kind not in ENCODERS:
        raise WorkspaceError(
            f"Found encoder {kind!r} in {folder}; expected one of {', '.join(ENCODERS)}. "
            "Train the ranker again."
        )
    return ENCODERS[kind].load(folder)
