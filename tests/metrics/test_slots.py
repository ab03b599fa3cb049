"""Slots: how they may be written, and what is no slot."""

import pytest

from otoscope.errors import UnreadableValueError
from otoscope.metrics import METRICS
from otoscope.metrics.slots import slots


def test_objects_and_pairs_are_read() -> None:
    assert slots('{"City": "New  York", "time": "10:30"}') == {"city": ["new york"], "time": ["10 30"]}
    assert slots("[('city', 'rome'), ('City', 'paris')]") == {"city": ["rome", "paris"]}


@pytest.mark.parametrize("text", ["city: rome", '"rome"', '["city", "rome"]', '{"city": 3}', '{"city": ["rome"]}', "3"])
def test_anything_else_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableValueError):
        METRICS["slot_type_f1"].row("{}", text)
