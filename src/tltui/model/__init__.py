"""Records → run ▸ rank ▸ process ▸ frame ▸ compile ▸ attempt ▸ unit ▸ artifact."""
