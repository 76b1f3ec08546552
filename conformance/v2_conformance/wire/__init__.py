"""From a case to bytes and back: encoding, HTTP/1.1, exchanges."""
