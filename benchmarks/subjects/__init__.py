"""What is measured on: histories, specs, and the original systems' ways to answer."""
