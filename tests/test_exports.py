"""The public names are the ones that are listed, and each can be had."""

import otoscope


def test_every_listed_name_exists_and_the_list_is_sorted() -> None:
    assert otoscope.__all__ == sorted(otoscope.__all__) == dir(otoscope)
    for name in otoscope.__all__:
        assert getattr(otoscope, name).__doc__
