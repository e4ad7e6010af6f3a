"""Commands: instructions addressed by domain, action and target."""
