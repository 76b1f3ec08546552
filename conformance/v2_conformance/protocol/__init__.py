"""The protocol itself: datatypes, messages, content codings."""
