"""The thread: why a line is there, what to know first, where it was done before, what is tied."""
