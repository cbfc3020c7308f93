"""What TORCH_COMPILE_DEBUG=1 leaves: `torch_compile_debug/run_…-pid_N/`, and copies of its units in Inductor's cache."""
