"""The index looked after: verify, collect garbage, redactions, export."""
