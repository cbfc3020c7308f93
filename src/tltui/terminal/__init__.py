"""Terminal I/O between Textual and the terminal: decoding of input, compact and paced output of frames."""
