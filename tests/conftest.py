"""Settings for every test."""

from hypothesis import settings

# A failure prints the blob that reproduces it; no deadline, because machines are shared.
settings.register_profile("cubewave", deadline=None, print_blob=True)
settings.load_profile("cubewave")
