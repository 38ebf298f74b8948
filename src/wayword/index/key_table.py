"""A hash table in an array, from keys to the places of their records: one look-up reads one slot, or a few.

A slot is 64 bits: where the record starts (in units of `UNIT` bytes), its size in bytes, and 8 bits of the key's hash,
so that a slot of another key is seldom followed. 0 is an empty slot. Whoever follows a slot compares the key.
"""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from wayword.errors import WaywordError

UNIT = 8
SIZE_BITS, HASH_BITS = 24, 8
START_SHIFT = SIZE_BITS + HASH_BITS
SIZE_MASK, HASH_MASK = (1 << SIZE_BITS) - 1, (1 << HASH_BITS) - 1
FULL = 0.75
"""Share of the slots that are used; the average key is then 1.5 slots from its own."""


def slots_for(keys: Sequence[str], start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The table of distinct keys. The first slot is the number of home slots, the last is empty.

    Slots are given in the order of hashes: a key gets its home slot, or the first free one behind it.
    """
    if len(keys) and (int(start.max()) // UNIT >= 1 << 32 or int(size.max()) > SIZE_MASK):
        raise WaywordError(
            f"Found completion lists of {int(start.max() + size.max()):,} bytes, the longest of {int(size.max()):,}; "
            f"an index holds {UNIT << 32:,}, and {SIZE_MASK:,} for one list."
        )
    homes = int(len(keys) / FULL) + 1
    hashed = np.fromiter((crc32(key.encode()) for key in keys), np.uint64, len(keys))
    order = np.argsort(hashed, kind="stable")
    home = ((hashed[order] * np.uint64(homes)) >> np.uint64(32)).astype(np.int64)
    step = np.arange(len(keys))
    place = np.maximum.accumulate(home - step) + step if len(keys) else home
    slots = np.zeros(1 + max(homes, int(place.max(initial=0)) + 1) + 1, np.uint64)
    slots[0] = homes
    slots[1 + place] = (
        (start[order].astype(np.uint64) // np.uint64(UNIT) << np.uint64(START_SHIFT))
        | (size[order].astype(np.uint64) << np.uint64(HASH_BITS))
        | (hashed[order] & np.uint64(HASH_MASK))
    )
    return slots
