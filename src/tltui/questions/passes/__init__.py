"""Graph changes by each pass of the compiler."""
