"""Bytes → records: files, offsets, envelopes, payloads of `TORCH_TRACE` logs. Standard library, and orjson if it is there."""
