"""Custom ops."""
