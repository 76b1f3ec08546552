"""Deviations from the reference server and from the plain client: faults, and legal variants.

`registry` says what a mutant is. `faults` has what is wrong with servers, `client_faults` what is
wrong with clients, `variants` and `client_variants` the legal ways in which a right one may differ.
`selftest` checks that the suite notices every fault.
"""
