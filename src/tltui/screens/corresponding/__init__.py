"""What provenance mode is made of: how a compile is read for it, and how its panes are laid out."""
