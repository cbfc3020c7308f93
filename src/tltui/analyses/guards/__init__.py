"""What compiled code relies on."""
