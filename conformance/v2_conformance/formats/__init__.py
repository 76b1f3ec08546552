"""Whatever people see of a run, made from its report alone.

Text of a report may come from a hostile server or a forger: each format escapes it in its own way,
and bounds its length. What is said about a report stands once: the verdict, causes and costs in
report/, doubts in `trust`, the bytes of a case in `shown`. The rest only places these words.
"""
