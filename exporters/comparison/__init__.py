"""Several exports side by side: size, accuracy, latency, the frontier and the picks."""
