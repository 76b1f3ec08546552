"""The subject of the tests: requirements, models, cases."""
