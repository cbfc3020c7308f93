"""Limits of `tltui check`."""
