"""Kernel to post-grad nodes by data flow, where torch wrote no mapping."""
