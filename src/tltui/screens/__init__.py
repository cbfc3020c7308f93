"""Screens: put widgets together and answer commands."""
