"""Layers of the model: their kernels, nodes, lines and costs."""
