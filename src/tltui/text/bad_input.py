"""The error of an input that the user can correct."""

from __future__ import annotations


class BadInput(ValueError):
    """The problem, with the rejected value, and what to type instead."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(f"{problem}; {advice}" if advice else problem)
        self.problem = problem
        self.advice = advice
        """'' if the problem says all."""
