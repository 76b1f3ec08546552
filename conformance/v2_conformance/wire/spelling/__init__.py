"""Other legal ways to write a request: its JSON, its HTTP, its content coding."""
