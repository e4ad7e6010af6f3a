"""`chant` and `clew spec`: what is about specs."""
