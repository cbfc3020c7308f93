"""The metrics that torch wrote at the end of every compile."""
