"""The serving artefact: what answers need and nothing else, memory-mapped, versioned, swapped atomically."""
