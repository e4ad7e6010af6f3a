"""A document: model, blocks, headings, templates, files, decision records."""
