"""What a compile amounts to, facet by facet: texts of a trace → what they say whichever rank wrote them."""
