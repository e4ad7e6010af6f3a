"""The agent programs: command lines, prompts, output, failures, and the built-in agent."""
