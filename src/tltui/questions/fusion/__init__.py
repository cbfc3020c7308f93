"""Kernel fusion by Inductor, and the operation files of torch-spyre."""
