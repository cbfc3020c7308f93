"""CUDA graphs: per compile used, skipped or recorded again, with reason and place."""
