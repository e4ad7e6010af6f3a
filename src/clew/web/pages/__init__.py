"""The pages of the board, one module each; a page is a function of a request."""
