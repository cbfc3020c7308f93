"""Pages that compare two things."""
