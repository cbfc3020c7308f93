"""What a job leaves behind besides traces, in the shape of one: TORCH_LOGS text, debug directories, archives, tlparse's output."""
