"""Sections of pages: what several pages, or one long one, are made of."""
