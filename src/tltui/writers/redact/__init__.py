"""Redaction: replacement of user data in a trace."""
