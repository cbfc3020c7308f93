"""What differs: pairing, graphs by content, passes."""
