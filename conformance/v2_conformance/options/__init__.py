"""The table of options. Each stands once, as a member of a class, with its type, unit, default and
help and with the places that have it: commands, the pytest plugin, target files.
"""
