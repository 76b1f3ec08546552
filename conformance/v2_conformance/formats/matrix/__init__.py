"""The page that compares servers."""
