"""The texts that tell agents how to use Clew."""
