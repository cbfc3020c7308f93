"""Work off the UI thread: who may read the run, in which order, and how it is ended. Nothing here knows Textual."""
