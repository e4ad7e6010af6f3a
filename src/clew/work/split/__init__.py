"""One spec split into members by an agent."""
