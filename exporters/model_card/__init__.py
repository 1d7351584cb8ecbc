"""README.md of an export folder: the model card, with the front matter that model hubs read."""
