"""What holds for all tests. Its presence puts tests/ on the import path: `import make_trace`, `import real`."""

from __future__ import annotations

import real

real.age()
