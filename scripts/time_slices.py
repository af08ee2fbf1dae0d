"""Times that are the scheduler's, not a program's.

If the scheduler keeps one member from its CPU, another one that spins for it spins until its own time slice
is over. Such a call takes some milliseconds on Linux. A ratio to it says nothing about the calls.
"""

SLICE_NS = 500_000  # a slice is 0.75 ms at least, and half of the calls may take none
SMALL = 32768  # bytes; larger ones may take that long
FAR = 50  # a rival that is within this factor takes long for reasons of its own


def is_slice(ns, own_ns, size):
    """Whether a rival's `ns` for a call of `size` bytes are those of time slices; Fermata's are `own_ns`."""
    return ns >= SLICE_NS and ns > FAR * own_ns and size <= SMALL
