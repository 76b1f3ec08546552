"""The table of options: each stands once, as a typed member of a class with everything about it."""
