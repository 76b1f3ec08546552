"""The selftest: the suite against every fault of its own server and client."""
