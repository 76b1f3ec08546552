"""Values of tensors: patterns, samples and generated requests."""
