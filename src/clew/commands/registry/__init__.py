"""The commands of all layers: registry files, scan, reload, watch, drift."""
