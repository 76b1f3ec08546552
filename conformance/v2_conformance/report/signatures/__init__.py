"""Signatures of reports in the format of OpenSSH."""
