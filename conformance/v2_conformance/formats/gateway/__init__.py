"""gateway.html: what a gateway does to the extension, on one page."""
