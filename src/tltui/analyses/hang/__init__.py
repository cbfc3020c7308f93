"""Where a job stands, or stood when it was killed: what its logs began and did not end."""
