"""What all BERT-like models share: config, named weights, one forward function, exact rewrites."""
