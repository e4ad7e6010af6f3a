"""How well the advisors read: notes by rules, and drafts of a perfect and of a careless caller."""
