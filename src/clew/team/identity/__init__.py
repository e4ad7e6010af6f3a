"""Who may do what: sign-in by a team's identity provider, groups, tokens of programs, and the audit."""
