"""Call sites."""
def sites_of(*a): return ()
