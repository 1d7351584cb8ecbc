"""`EncoderConfig` part by part: each has the fields, checks and shapes of its own, and knows the parts before it."""
