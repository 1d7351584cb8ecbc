"""What a pass is: a function that edits a model in place, with conditions on the model before and after.

A condition is a function from a model to what is wrong with it. Conditions look at the structure of the graph and never
at the values of weights, so they are cheap enough to be checked on every run.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Concatenate, ParamSpec, TypeVar

ModelT = TypeVar("ModelT")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def rewrite(
    *,
    requires: tuple[Callable[[ModelT], Iterator[str]], ...] = (),
    ensures: tuple[Callable[[ModelT], Iterator[str]], ...] = (),
) -> Callable[[Callable[Concatenate[ModelT, Parameters], Result]], Callable[Concatenate[ModelT, Parameters], Result]]:
    """A model that lacks what a pass requires is a ValueError, one that lacks what it ensures a RuntimeError."""

    def decorate(
        function: Callable[Concatenate[ModelT, Parameters], Result],
    ) -> Callable[Concatenate[ModelT, Parameters], Result]:
        @functools.wraps(function)
        def checked(model: ModelT, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            for problem in _problems(requires, model):
                raise ValueError(f"Pass {function.__name__}: {problem}")
            result = function(model, *args, **kwargs)
            for problem in _problems(ensures, model):
                raise RuntimeError(f"Pass {function.__name__} left a broken model: {problem}")
            return result

        return checked

    return decorate


def _problems(conditions: tuple[Callable[[ModelT], Iterator[str]], ...], model: ModelT) -> Iterator[str]:
    for condition in conditions:
        yield from condition(model)
