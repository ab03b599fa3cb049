"""A small map from digests to numbers, so that a run may have more samples than a dictionary can hold."""

_DIGEST, _NUMBER = 16, 8
_SLOT = _DIGEST + _NUMBER
_FREE = bytes(_DIGEST)
_FEWEST_SLOTS = 1024


class KeyIndex:
    """Maps digests, as ``records.digest`` makes them, to numbers from 0 on, in 32 to 48 bytes each; a dict takes 170.

    A hash table in one stretch of memory. Digests are evenly spread already, so their first bytes choose the slot, and
    the next free slot is taken where that one is not.
    """

    def __init__(self) -> None:
        self._slots = _FEWEST_SLOTS
        self._table = bytearray(_SLOT * self._slots)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def get(self, key: str) -> int | None:
        """Return the number of ``key``, or None."""
        at = self._place(digest := bytes.fromhex(key))
        if self._table[at : at + _DIGEST] != digest:
            return None
        return int.from_bytes(self._table[at + _DIGEST : at + _SLOT], "little")

    def __setitem__(self, key: str, number: int) -> None:
        if 4 * self._length >= 3 * self._slots:
            self._grow()
        at = self._place(digest := bytes.fromhex(key))
        self._length += self._table[at : at + _DIGEST] == _FREE
        self._table[at : at + _SLOT] = digest + number.to_bytes(_NUMBER, "little")

    def _place(self, digest: bytes) -> int:
        """Return where the digest is, or where it would go."""
        slot = int.from_bytes(digest[:_NUMBER], "little") % self._slots
        while self._table[_SLOT * slot : _SLOT * slot + _DIGEST] not in (digest, _FREE):
            slot = (slot + 1) % self._slots
        return _SLOT * slot

    def _grow(self) -> None:
        old, self._slots = self._table, self._slots * 3 // 2
        self._table = bytearray(_SLOT * self._slots)
        for start in range(0, len(old), _SLOT):
            entry = old[start : start + _SLOT]
            if not entry.startswith(_FREE):
                at = self._place(bytes(entry[:_DIGEST]))
                self._table[at : at + _SLOT] = entry
