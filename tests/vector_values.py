"""Random elements for the tests of the vector unit's arithmetic."""

__all__ = ["random_element", "random_elements"]


def random_element(random, bits):
    """A boundary, or a number of any magnitude of up to `bits` bits, signed."""
    high = (1 << bits - 1) - 1
    if random.random() < 0.3:
        return random.choice([-high - 1, -high, high, high - 1, -1, 0, 1, -(1 << 31),
                              (1 << 31) - 1])
    size = random.randrange(1, bits)
    return random.randrange(-(1 << size), 1 << size)


def random_elements(random, bits, count):
    return [random_element(random, bits) for _ in range(count)]
