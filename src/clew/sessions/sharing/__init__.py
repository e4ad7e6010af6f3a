"""What a team shares of its sessions: requests on commits, by choice."""

CLEW = "refs/notes/clew"
