"""Results and artifacts → documents; the outline (the tree on the left) as well."""
