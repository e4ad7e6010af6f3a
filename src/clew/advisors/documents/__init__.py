"""A document: model, items, templates, merging, files, decision records."""
