"""What can be opened → records. One module for each kind of source."""
