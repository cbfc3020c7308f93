"""Which operations Inductor put into which kernel, and what it did not fuse and why."""
