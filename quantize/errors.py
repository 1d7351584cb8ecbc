"""Errors about a model that a recipe cannot take."""


class RecipeError(ValueError):
    """The values of the model do not fit the recipe; one line says which and why."""
