"""Commands from and for other programs: their files, their arguments."""
