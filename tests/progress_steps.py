"""A progress that remembers each step."""

from wayword.progress import Progress


class Steps(Progress):
    """`steps` holds (done, total) of each call of `advance`."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []

    def advance(self, done: int, total: int) -> None:
        """See `Progress.advance`."""
        self.steps.append((done, total))
