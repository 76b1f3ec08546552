"""Commands about the suite itself, its embedded server and its kits."""
