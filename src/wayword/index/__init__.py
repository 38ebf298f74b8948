"""The index: the served artefact, memory-mapped, versioned and swapped atomically."""
