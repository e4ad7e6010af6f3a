"""The rules for documents: structure, vision, architecture, decision records, traces."""
