"""Ablation as a function: `ablate(AblateRequest(...))`."""
