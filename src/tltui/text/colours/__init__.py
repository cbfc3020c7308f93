"""Colours and sections of texts, by language."""
