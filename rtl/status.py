"""What a unit does in a cycle: busy, idle, draining, or stalled for a named reason.

Every unit exports one of these numbers in every cycle, so its counters partition the run. Where
several reasons apply the first in the order of the list wins, as each unit's file says.
"""

from amaranth.lib import enum

__all__ = ["ArrayStatus", "HandoffStatus", "LoaderStatus",
           "MemoryStatus", "StoreStatus", "UNITS", "VectorStatus"]


class MemoryStatus(enum.Enum, shape=1):
    IDLE = 0  # no descriptor occupies the channel
    BUSY = 1  # a descriptor occupies the channel


class LoaderStatus(enum.Enum, shape=3):
    IDLE = 0   # no command, nothing under way
    BUSY = 1   # a load occupies the channel
    DRAIN = 2  # no command; data of the last loads is under way
    SLOT = 3   # the operand or vector slot of the load at the head is taken
    FIFO = 4   # no place in the weight FIFO for it
    STORE = 5  # a store occupies the channel or comes first
    PORT = 6   # the write port of its destination is busy


class ArrayStatus(enum.Enum, shape=4):
    IDLE = 0          # no command, no row in the array
    BUSY = 1          # an activation row enters
    DRAIN = 2         # no command; a row of the last one is still in the array
    FILL = 3          # no activation row of the run has entered yet
    ACCUMULATOR = 4   # the bank or hand-off slot of the job at the head is not free
    OPERANDS = 5      # its slot is not ready
    WEIGHT_SHIFT = 6  # its tile is whole in the FIFO or being shifted
    WEIGHTS = 7       # its tile is neither
    OUTPUT = 8        # output stationary: the results before it are still in the cells


class StoreStatus(enum.Enum, shape=3):
    IDLE = 0    # no command, nothing under way
    BUSY = 1    # a store reads its bank or occupies the channel
    DRAIN = 2   # no command; the last write is under way
    RESULT = 3  # the bank, or vector slot, of the store at the head holds no result
    MEMORY = 4  # a load occupies the channel or comes first


class VectorStatus(enum.Enum, shape=3):
    IDLE = 0      # no command, nothing under way
    BUSY = 1      # elements of a command enter
    DRAIN = 2     # no command; results of the last one are under way
    INPUT = 3     # the slot of the command at the head is not filled
    PIPELINE = 4  # results of commands before it are under way


class HandoffStatus(enum.Enum, shape=3):
    IDLE = 0           # no command, nothing under way
    BUSY = 1           # a transfer holds the interface
    DRAIN = 2          # no command; the end of the last transfer is under way
    SCORES = 3         # the bank of the transfer at the head is not full
    SLOT = 4           # the vector slot that it takes is not free
    PROBABILITIES = 5  # its vector slot holds no result
    OPERANDS = 6       # the operand slot that it takes is not free


#: The units of a core and what they report.
UNITS = {"memory": MemoryStatus, "loader": LoaderStatus, "array": ArrayStatus,
         "vector": VectorStatus, "handoff": HandoffStatus, "store": StoreStatus}
