"""The demo's page, which the worker must not open."""


class Interface:
    def __init__(self, **_fields: object) -> None:
        raise AssertionError("the worker opened the demo")
