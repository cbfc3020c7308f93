"""Missing inputs of a job: ranks without a log, unreadable files, inputs that contradict each other."""
