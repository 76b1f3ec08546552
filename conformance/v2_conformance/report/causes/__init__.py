"""The causes of failures: patterns, root causes, and words for them."""
