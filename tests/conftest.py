"""Tests run side by side on all cores: linear algebra on threads of its own would only get in their way."""

import os

for library in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(library, "1")
