"""Why a frame was compiled again, and what helps."""
