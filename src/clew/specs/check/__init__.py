"""What judges specs: lint, scoring, output schemas, verification, drift."""
