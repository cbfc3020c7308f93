"""Page of one artifact or record, and the output of `show` and `extract`."""
