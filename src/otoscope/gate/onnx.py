"""ONNX models as bytes: read the constants of one, write a new one. Both are protocol buffers with few kinds of fields.

With this a model whose weights are published in another form, or in a graph that is slow to run, needs no converter.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IR_VERSION, OPERATORS = 8, 13
FLOAT = 1
VARINT, BYTES, SIZES = 0, 2, {1: 8, 5: 4}
INTEGER, TEXT, INTEGERS = 2, 3, 7
"""Types of an operator's attributes."""

Shape = Sequence[int | None]
"""None stands for a dimension that is free."""


def session(source: str | bytes) -> Any:
    """Return an onnxruntime session on one thread, for a path or a model's bytes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that is written at ``at``, and where the next thing is."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:  # noqa: PLR2004 - the high bit says that more follows
            return value, at


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield numbers and values of a message's fields: integers, or bytes.

    Raises:
        KeyError: it is no message.
        IndexError: it breaks off.
    """
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        if tag & 7 == VARINT:
            value, at = varint(message, at)
            yield tag >> 3, value
            continue
        size, at = varint(message, at) if tag & 7 == BYTES else (SIZES[tag & 7], at)
        yield tag >> 3, message[at : at + size]
        at += size


def constants(data: bytes) -> dict[str, "NDArray[np.float32]"]:
    """Return the float constants of a model and of the branches within, by the name of their node's output.

    Raises:
        KeyError: it is no model.
        IndexError: it breaks off.
    """
    found: dict[str, NDArray[np.float32]] = {}
    for graph in _all(data, 7):
        _collect(graph, found)
    return found


def _all(message: bytes, number: int) -> list[Any]:
    return [value for field, value in fields(message) if field == number]


def _collect(graph: bytes, found: dict[str, "NDArray[np.float32]"]) -> None:
    import numpy as np

    for node in _all(graph, 1):
        for attribute in _all(node, 5):
            for branch in _all(attribute, 6):
                _collect(branch, found)
            for value in _all(attribute, 5):
                content = dict(fields(value))
                if content.get(2) == FLOAT and 9 in content:  # noqa: PLR2004 - raw bytes
                    [name] = _all(node, 2)
                    found[name.decode()] = np.frombuffer(content[9], "<f4").reshape(_dimensions(value))


def _dimensions(tensor: bytes) -> list[int]:
    """Return a tensor's shape, which is written as one field a dimension or as all of them in one."""
    shape = []
    for value in _all(tensor, 1):
        if isinstance(value, int):
            shape.append(value)
            continue
        at = 0
        while at < len(value):
            size, at = varint(value, at)
            shape.append(size)
    return shape


def model(
    nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]
) -> bytes:
    """Return a model of float tensors.

    Args:
        nodes: operators, each after what it depends on.
        tensors: weights.
        inputs: shapes by name.
        outputs: shapes by name.
    """
    graph = b"".join(
        [
            *(_field(1, one) for one in nodes),
            _field(2, b"graph"),
            *(_field(5, one) for one in tensors),
            *(_field(11, _described(name, shape)) for name, shape in inputs.items()),
            *(_field(12, _described(name, shape)) for name, shape in outputs.items()),
        ]
    )
    return _field(1, IR_VERSION) + _field(7, graph) + _field(8, _field(1, b"") + _field(2, OPERATORS))


def tensor(name: str, values: "NDArray[np.float32]") -> bytes:
    """Return named weights."""
    dimensions = b"".join(_field(1, size) for size in values.shape)
    content = values.astype("<f4", order="C").tobytes()
    return dimensions + _field(2, FLOAT) + _field(8, name.encode()) + _field(9, content)


def node(
    operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: int | str | Sequence[int]
) -> bytes:
    """Return an operator; an input or output that is left out has an empty name."""
    parts = [_field(1, name.encode()) for name in inputs] + [_field(2, name.encode()) for name in outputs]
    parts.append(_field(4, operator.encode()))
    parts += [_field(5, _attribute(name, value)) for name, value in attributes.items()]
    return b"".join(parts)


def _attribute(name: str, value: int | str | Sequence[int]) -> bytes:
    head = _field(1, name.encode())
    if isinstance(value, int):
        return head + _field(3, value) + _field(20, INTEGER)
    if isinstance(value, str):
        return head + _field(4, value.encode()) + _field(20, TEXT)
    return head + b"".join(_field(8, one) for one in value) + _field(20, INTEGERS)


def _described(name: str, shape: Shape) -> bytes:
    sizes = (_field(2, b"n") if size is None else _field(1, size) for size in shape)
    dimensions = b"".join(_field(1, size) for size in sizes)
    return _field(1, name.encode()) + _field(2, _field(1, _field(1, FLOAT) + _field(2, dimensions)))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _written(number << 3 | VARINT) + _written(value)
    return _written(number << 3 | BYTES) + _written(len(value)) + value


def _written(value: int) -> bytes:
    out = bytearray()
    while value > 127:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
