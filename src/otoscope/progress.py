"""Progress bars, on standard error and only where a person looks."""

import contextlib
from collections.abc import Callable, Iterator

DownloadProgress = Callable[[str, int, int | None], None]
"""Called with what is fetched, bytes done, and bytes in all or None."""

CountProgress = Callable[[int, int], None]
"""Called with how many are done, and how many there are in all."""


@contextlib.contextmanager
def download_bar() -> Iterator[DownloadProgress]:
    """Give a callback that draws one bar a file."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bars: dict[str, TaskID] = {}

        def update(description: str, done: int, total: int | None) -> None:
            if description not in bars:
                bars[description] = progress.add_task(description, total=total)
            progress.update(bars[description], completed=done, total=total)

        yield update


@contextlib.contextmanager
def file_bar(description: str) -> Iterator[Callable[[str, int, int], None]]:
    """Give a callback, called with a file's name, files done and files in all, that draws one bar."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    with Progress(
        *Progress.get_default_columns(), MofNCompleteColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(description, total=None)
        yield lambda name, done, total: bar.update(
            task, description=f"{description} {name}", completed=done, total=total
        )


@contextlib.contextmanager
def count_bar(description: str) -> Iterator[CountProgress]:
    """Give a callback that draws one bar."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
