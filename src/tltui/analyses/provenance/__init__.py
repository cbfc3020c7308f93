"""From the line that the user wrote to the kernel that runs, and back."""
