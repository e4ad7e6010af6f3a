"""Messages, eras, dialects, methods, questions, subscriptions and tasks."""
