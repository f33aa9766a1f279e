"""When every command starts, and until when it had to wait for what."""

from array import array

__all__ = ["Schedule"]

NAMES = ("load_start", "load_occupancy", "load_hold", "load_room",
         "job_start", "job_end", "job_written", "job_bank", "job_output", "job_slot", "job_whole",
         "job_weights",
         "vector_head", "vector_filled", "vector_complete", "vector_from", "vector_until",
         "vector_start", "vector_end",
         "handoff_start", "handoff_end", "handoff_source", "handoff_room",
         "store_start", "store_occupancy", "store_hold", "store_full", "store_complete")


class Schedule:
    """Times are cycles of the run; an end is the cycle after the last one.

    Arrays of 64-bit integers, one entry a command, in queue order.

    Attributes
    ----------
    load_start, load_occupancy, load_hold, load_room : array
        `load_room`: from when the destination has room.
    job_start, job_end, job_written : array
        `job_written`: from when the sums that the job leads to are written.
    job_bank, job_output, job_slot, job_whole, job_weights : array
        From when the job's bank and hand-off slot are free, the results before it are out of its
        way, its slot is ready, its tile whole in the FIFO and in the cells (`BEFORE` where it
        needs none).
    vector_head, vector_filled, vector_start, vector_end, vector_complete : array
        `vector_head`: from when the command is at the head of its queue; `vector_filled`: from
        when its slots are filled; start and end of its first and last elements' entry;
        `vector_complete`: from when its results are there.
    vector_from, vector_until : array
        Intervals without a gap in which elements enter; a command may have several.
    handoff_start, handoff_end, handoff_source, handoff_room : array
        `handoff_source`: from when the source is full; `handoff_room`: the destination free.
    store_start, store_occupancy, store_hold, store_full, store_complete : array
        `store_full`: from when the bank or vector slot holds a result; `store_complete`: from
        when all is written.
    """

    def __init__(self) -> None:
        for name in NAMES:
            setattr(self, name, array("q"))

    load_start: array
    load_occupancy: array
    load_hold: array
    load_room: array
    job_start: array
    job_end: array
    job_written: array
    job_bank: array
    job_output: array
    job_slot: array
    job_whole: array
    job_weights: array
    vector_head: array
    vector_filled: array
    vector_complete: array
    vector_from: array
    vector_until: array
    vector_start: array
    vector_end: array
    handoff_start: array
    handoff_end: array
    handoff_source: array
    handoff_room: array
    store_start: array
    store_occupancy: array
    store_hold: array
    store_full: array
    store_complete: array
