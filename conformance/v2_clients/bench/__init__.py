"""The client bench: a listener for each scenario, and the ways to run a client against it."""
