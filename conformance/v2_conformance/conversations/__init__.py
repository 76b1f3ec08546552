"""Everything that belongs to a case, written once, as generators that yield steps and receive
answers.
"""
