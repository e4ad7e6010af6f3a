"""From free text and a repository to notes, measures, conflicts and questions."""
