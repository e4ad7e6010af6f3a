"""How it is measured: processes, samples, other people's servers."""
