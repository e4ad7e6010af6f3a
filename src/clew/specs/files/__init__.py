"""A spec file: ids, front matter, body, criteria."""
