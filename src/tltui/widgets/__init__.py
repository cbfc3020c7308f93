"""Widgets: draw documents and the outline; know no screens."""
