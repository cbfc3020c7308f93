"""Kernel → post-grad nodes by the flow of data, where torch wrote no map."""
