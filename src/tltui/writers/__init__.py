"""Writers of files: bundles, cases, indexes, reports, reproduction scripts, JUnit, GitHub annotations, Perfetto traces."""
