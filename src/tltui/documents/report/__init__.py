"""What of a run goes into a file for somebody without tltui: what there is, what it is worth, and what is said of the rest."""
