"""Dumps of torch's flight recorder: the last collectives of a rank, written when a collective times out or on request.

The format is that of `torch/csrc/distributed/c10d/FlightRecorder.hpp` and `FlightRecorderDetail.hpp` (versions 2.0 to 2.10): a
dictionary with `version`, `pg_config` (process groups), `pg_status` and `entries`, as a pickle or as JSON.
"""
