"""From free text and a repository to statements, gaps, conflicts and questions."""
