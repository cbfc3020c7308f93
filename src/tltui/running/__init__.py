"""Jobs that tltui starts: environment, process and signal handling. Nothing here prints."""
