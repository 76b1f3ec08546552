"""Deviations from the reference server and from the plain client: faults, and legal variants.

`registry` says what a mutant is. `faults` has what is wrong with servers, `client_faults` what is
wrong with clients, `variants` the legal ways in which a right server may differ. Only the commands
and the maintenance of the suite know this package.
"""
