"""The page on SURE names the test that holds each thing it says."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sure.md").read_text("utf-8")


def test_every_test_that_the_page_names_is_there() -> None:
    [section] = re.findall(r"^## Which test holds what\n(.*?)^## ", PAGE, flags=re.MULTILINE | re.DOTALL)
    rows = [line for line in section.splitlines() if "::" in line]
    assert len(rows) > 25
    for row in rows:
        file = ""
        for path, name in re.findall(r"`([\w/.]*)::(\w+)`", row):
            file = path or file
            text = (ROOT / file).read_text("utf-8")
            assert re.search(rf"^def {name}\(", text, flags=re.MULTILINE), f"{file}::{name}"
