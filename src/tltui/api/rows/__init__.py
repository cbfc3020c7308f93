"""The rows of all results: frozen dataclasses whose fields are the columns of `to_records()`.

Columns that end in `_s` are seconds, in `_us` microseconds; `ref` is an address that every function takes; lists are joined by `,
`. docs/api-columns.md is made from this package.
"""
