"""What the worker uses of torch."""

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace

float16 = "float16"


@contextlib.contextmanager
def _autocast(dtype: str = float16) -> Iterator[None]:
    assert dtype == float16
    cuda.entered = True
    yield
    cuda.entered = False


cuda = SimpleNamespace(entered=False, amp=SimpleNamespace(autocast=_autocast))
