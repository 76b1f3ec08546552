"""The pages that compare servers, or clients: the matrix, and one in all its versions."""
