"""Inductor's scheduler: the text of its nodes before and after fusion, and what it logs while it fuses."""
