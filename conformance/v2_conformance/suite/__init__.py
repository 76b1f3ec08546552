"""What is tested: requirements, models, cases."""
