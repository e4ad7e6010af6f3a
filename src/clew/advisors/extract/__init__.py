"""From free text to notes, measures, conflicts and questions."""
