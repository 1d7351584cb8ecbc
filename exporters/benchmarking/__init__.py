"""How long model files take, side by side: here, each in a process of its own, or on a phone."""
