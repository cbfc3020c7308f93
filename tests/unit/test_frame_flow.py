"""When a frame may be drawn."""

from __future__ import annotations

from tltui.terminal.frames import LOST, PATIENCE, Flow


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def flow() -> tuple[Flow, Clock]:
    clock = Clock()
    return Flow(clock), clock


def test_a_terminal_that_never_answers_is_never_waited_for() -> None:
    line, clock = flow()
    line.begin()
    for _ in range(20):
        assert line.wait() == 0
        assert not line.drawn()
        clock.now += 0.01


def test_one_frame_at_a_time() -> None:
    line, clock = flow()
    line.begin()
    line.answered()
    for _ in range(5):
        assert line.wait() == 0
        assert line.drawn()
        clock.now += 0.5
        assert line.wait() == PATIENCE - 0.5
        line.answered()


def test_a_late_answer_is_not_waited_for() -> None:
    """But nothing more is asked until it is there, and frames do not come faster."""
    line, clock = flow()
    line.answered()
    assert line.drawn()
    clock.now += PATIENCE
    assert line.wait() == 0
    assert not line.drawn()
    assert line.wait() == PATIENCE
    clock.now += 1
    line.answered()
    assert line.wait() == 0
    assert line.drawn()


def test_an_answer_that_was_lost() -> None:
    line, clock = flow()
    line.answered()
    line.drawn()
    clock.now += LOST
    assert line.wait() == 0
    assert line.drawn(), "asked once more"
    clock.now += LOST
    assert line.wait() == 0
    assert not line.drawn(), "a terminal that answers no more is as one that never did"
    line.begin()
    line.answered()
    assert line.drawn()


def test_what_was_owed_before_the_terminal_was_lent() -> None:
    line, _ = flow()
    line.answered()
    line.drawn()
    line.begin()
    assert line.wait() == 0
    assert line.drawn()
