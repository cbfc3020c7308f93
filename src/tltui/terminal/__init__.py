"""What stands between Textual and the terminal: bytes that come are decoded here, frames that go are made small and paced."""
