"""Working by a fleet: orders and their leases, the worker, and merging on the remote."""
