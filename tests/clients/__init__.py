"""Real programs written by others, each tested in an environment of its own."""
