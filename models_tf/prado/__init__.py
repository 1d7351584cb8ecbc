"""PRADO, projection attention networks."""
