"""Finding: four tests of any history, the systems that are compared, and how weights are learned."""
