"""What each part of a token model costs."""
