"""Reading and writing spec files and settings, with an audit trail."""
