"""Publishes reports: the site with its matrix, a page for each product, and index.json."""
