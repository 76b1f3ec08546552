"""What must not change, frozen in small files: see README.md."""
