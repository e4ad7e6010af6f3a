"""Search of commands, judged on registries and texts that other people wrote."""
