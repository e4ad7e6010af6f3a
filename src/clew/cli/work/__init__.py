"""`chant work`, `merge`, `watch` and what follows them."""
