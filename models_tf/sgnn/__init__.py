"""SGNN, self-governing neural networks."""
