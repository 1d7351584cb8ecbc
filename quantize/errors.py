"""Errors of recipes."""


class RecipeError(ValueError):
    """A format lacks the recipe, or the model's values do not fit it; one line says which and why."""
