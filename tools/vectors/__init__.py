"""The cases as vectors: messages, and what a codec of any language must make of them."""
