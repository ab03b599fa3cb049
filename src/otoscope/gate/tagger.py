"""AudioSet taggers: is speech among the sounds? YAMNet comes as named weights, AST by transformers.

YAMNet is published as a TensorFlow checkpoint. It is 27 convolutions; here its variables are read and written into an
ONNX graph when it is loaded, so neither TensorFlow nor the onnx package is needed.
"""

import csv
import functools
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otoscope.errors import ModelLoadingError
from otoscope.gate.signal import Heard, Scores, Signal
from otoscope.gate.spectrum import HOP, magnitudes, mel_filters
from otoscope.gate.vad import onnx_session, require
from otoscope.models.local import find_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPEECH = frozenset(
    {
        "Speech",
        "Male speech, man speaking",
        "Female speech, woman speaking",
        "Child speech, kid speaking",
        "Conversation",
        "Narration, monologue",
        "Speech synthesizer",
        "Whispering",
    }
)
"""Classes of AudioSet that hold words to understand; laughter, babbling and singing do not."""
CROWD = frozenset({"Chatter", "Crowd", "Hubbub, speech noise, speech babble"})
"""Classes in which several people speak at once."""

CHECKPOINT = ("variables.data-00000-of-00001", "variables.index", "yamnet_class_map.csv")
PATCH, PATCH_HOP, MELS = 96, 48, 64
"""Frames of 10 ms in a patch and between patches, and mel bands."""
PATCH_SAMPLES = 15_600
MEL_RANGE = (125.0, 7500.0)
LAYERS = ((1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512), *[(1, 512)] * 5, (2, 1024), (1, 1024))
"""Stride and channels of each pair of a depthwise and a pointwise convolution."""
NORM_EPSILON = 1e-4

AST_FILES = ("model.safetensors", "config.json", "preprocessor_config.json")


class Yamnet:
    """YAMNet. Scores: ``speech`` and ``crowd``, the highest probability of such a class in any 0.96 s.

    Args:
        spec: named weights, or a folder with the checkpoint's variables and the class map.

    Raises:
        ModelLoadingError: onnxruntime is not installed, or the checkpoint is another one.
    """

    def __init__(self, spec: str = "yamnet") -> None:
        require("onnxruntime", spec)
        self._folder, revision = find_folder(spec, CHECKPOINT)
        self.settings: Mapping[str, Any] = {"spec": spec, "revision": revision}

    @functools.cached_property
    def classes(self) -> list[str]:
        """Names of the 521 classes, in the order of ``tag``'s columns."""
        with (self._folder / CHECKPOINT[2]).open(encoding="utf-8", newline="") as file:
            return [row["display_name"] for row in csv.DictReader(file)]

    @functools.cached_property
    def _session(self) -> Any:
        return onnx_session(to_onnx(read_checkpoint(self._folder)))

    def tag(self, samples: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return probabilities, shape (patches, 521), of mono audio at 16 kHz; the end is padded to a whole patch."""
        import numpy as np

        hop = PATCH_HOP * HOP
        excess = max(0, len(samples) - PATCH_SAMPLES)
        padded = np.pad(samples, (0, PATCH_SAMPLES + -(-excess // hop) * hop - len(samples)))
        log_mel = np.log(magnitudes(padded) @ mel_filters(MELS, *MEL_RANGE) + 0.001)
        patches = np.lib.stride_tricks.sliding_window_view(log_mel, PATCH, axis=0)[::PATCH_HOP].transpose(0, 2, 1)
        batches = [patches[start : start + 64] for start in range(0, len(patches), 64)]
        found = [self._session.run(["scores"], {"x": np.ascontiguousarray(batch[:, None])})[0] for batch in batches]
        return np.asarray(np.concatenate(found), np.float32)

    def measure(self, heard: Heard) -> Scores:
        """Return the highest probabilities of speech and of a crowd."""
        return _highest(self.tag(heard.samples), self.classes)


class Ast:
    """An Audio Spectrogram Transformer by transformers. Scores as YAMNet's, over 10 s windows.

    Args:
        spec: a folder, or a repository id on the hub, such as ``MIT/ast-finetuned-audioset-10-10-0.4593``.

    Raises:
        ModelLoadingError: torch or transformers is not installed, or the weights cannot be found.
    """

    def __init__(self, spec: str) -> None:
        for library in ("torch", "transformers"):
            require(library, spec, library)
        self._folder, revision = find_folder(spec, AST_FILES)
        self.settings: Mapping[str, Any] = {"spec": spec, "revision": revision}

    @functools.cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import transformers

        folder = str(self._folder)
        model = transformers.ASTForAudioClassification.from_pretrained(folder, local_files_only=True).eval()
        return model, transformers.ASTFeatureExtractor.from_pretrained(folder, local_files_only=True)

    def measure(self, heard: Heard) -> Scores:
        """Return the highest probabilities of speech and of a crowd."""
        import numpy as np
        import torch

        model, extractor = self._loaded
        size = extractor.max_length * HOP
        found = []
        for start in range(0, len(heard.samples), size):
            features = extractor(
                heard.samples[start : start + size], sampling_rate=extractor.sampling_rate, return_tensors="pt"
            )
            with torch.inference_mode():
                found.append(torch.sigmoid(model(features["input_values"]).logits)[0].numpy())
        names = [model.config.id2label[index] for index in range(model.config.num_labels)]
        return _highest(np.stack(found), names)


def load_tagger(spec: str) -> Signal:
    """Return the tagger that ``spec`` names: YAMNet's named weights or its checkpoint, else an AST."""
    if spec == "yamnet" or (Path(spec) / CHECKPOINT[1]).is_file():
        return Yamnet(spec)
    return Ast(spec)


def _highest(probabilities: "NDArray[np.float32]", names: list[str]) -> Scores:
    highest = probabilities.max(axis=0)
    return Scores(
        {
            "speech": max(float(highest[index]) for index, name in enumerate(names) if name in SPEECH),
            "crowd": max(float(highest[index]) for index, name in enumerate(names) if name in CROWD),
        }
    )


def read_checkpoint(folder: Path) -> dict[str, "NDArray[np.float32]"]:
    """Return the float variables of a TensorFlow checkpoint by name.

    Args:
        folder: holds ``variables.index``, a table of protocol buffers, and ``variables.data-00000-of-00001``.

    Raises:
        ModelLoadingError: the files are not such a checkpoint.
    """
    import numpy as np

    index, data = ((folder / name).read_bytes() for name in (CHECKPOINT[1], CHECKPOINT[0]))
    variables = {}
    try:
        footer = index[-48:]
        _, at = _varint(footer, 0)  # the first handle is of the metaindex, which says nothing here
        _, at = _varint(footer, at)
        for _, handle in _entries(index, *_handle(footer, at)):
            for name, value in _entries(index, *_handle(handle, 0)):
                entry = dict(_fields(value))
                if not name or entry.get(1) != 1:  # a header without a name, and types other than float
                    continue
                shape = [dict(_fields(size)).get(1, 0) for number, size in _fields(entry.get(2, b"")) if number == 2]  # noqa: PLR2004
                start, size = entry.get(4, 0), entry[5]
                variables[name.decode()] = np.frombuffer(data[start : start + size], "<f4").reshape(shape)
    except (IndexError, KeyError, ValueError, TypeError, struct.error) as error:
        raise ModelLoadingError(f"{folder}: not the checkpoint of YAMNet: {error}") from error
    return variables


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:  # noqa: PLR2004 - the high bit says that more follows
            return value, at


def _handle(data: bytes, at: int) -> tuple[int, int]:
    offset, at = _varint(data, at)
    return offset, _varint(data, at)[0]


def _entries(table: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of one block of the table; a key is stored as what differs from the one before."""
    block = table[offset : offset + size]
    end = size - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + own]
        yield key, block[at + own : at + own + length]
        at += own + length


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield numbers and values of a protocol buffer's fields."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        size, at = _varint(message, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)  # noqa: PLR2004 - kinds of fields
        yield tag >> 3, message[at : at + size]
        at += size


def to_onnx(variables: Mapping[str, "NDArray[np.float32]"]) -> bytes:
    """Return YAMNet as an ONNX model: ``x`` (patches, 1, 96, 64) to ``scores`` (patches, 521).

    Batch normalisation is folded into the convolutions.

    Raises:
        ModelLoadingError: a variable is missing.
    """
    import numpy as np

    def variable(layer: int, name: str) -> "NDArray[np.float32]":
        key = f"layer-1/layer/_func/_yamnet/layer_with_weights-{layer}/{name}/.ATTRIBUTES/VARIABLE_VALUE"
        if key not in variables:
            raise ModelLoadingError(f"not the checkpoint of YAMNet: it has no {key}")
        return variables[key]

    nodes, tensors = [], []
    layer, channels, current = 0, 32, "x"

    def convolve(name: str, stride: int, groups: int) -> None:
        nonlocal layer, current
        scale = 1 / np.sqrt(variable(layer + 1, "moving_variance") + NORM_EPSILON)
        shift = variable(layer + 1, "beta") - variable(layer + 1, "moving_mean") * scale
        kernel = variable(layer, name).transpose((3, 2, 0, 1) if groups == 1 else (2, 3, 0, 1))
        weight, bias, out = f"w{layer}", f"b{layer}", f"c{layer}"
        tensors.extend([_tensor(weight, kernel * scale[:, None, None, None]), _tensor(bias, shift)])
        attributes = [
            _attribute("strides", ints=(stride, stride)),
            _attribute("group", integer=groups),
            _attribute("auto_pad", text="SAME_UPPER"),
        ]
        nodes.append(_node("Conv", (current, weight, bias), out, attributes))
        nodes.append(_node("Relu", (out,), current := f"r{layer}"))
        layer += 2

    convolve("kernel", 2, 1)
    for stride, wider in LAYERS:
        convolve("depthwise_kernel", stride, channels)
        convolve("kernel", 1, 1)
        channels = wider
    tensors.extend([_tensor("w", variable(layer, "kernel")), _tensor("b", variable(layer, "bias"))])
    nodes.append(_node("GlobalAveragePool", (current,), "pooled"))
    nodes.append(_node("Flatten", ("pooled",), "flat"))
    nodes.append(_node("Gemm", ("flat", "w", "b"), "logits"))
    nodes.append(_node("Sigmoid", ("logits",), "scores"))
    classes = len(variable(layer, "bias"))
    graph = b"".join(
        [
            *(_field(1, node) for node in nodes),
            _field(2, b"yamnet"),
            *(_field(5, tensor) for tensor in tensors),
            _field(11, _value("x", (1, PATCH, MELS))),
            _field(12, _value("scores", (classes,))),
        ]
    )
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _field(2, 13))  # IR 8, operators 13


def _field(number: int, value: int | bytes) -> bytes:
    """Return one field of a protocol buffer."""
    if isinstance(value, int):
        return _to_varint(number << 3) + _to_varint(value)
    return _to_varint(number << 3 | 2) + _to_varint(len(value)) + value


def _to_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _tensor(name: str, values: "NDArray[np.float32]") -> bytes:
    dimensions = b"".join(_field(1, size) for size in values.shape)
    return dimensions + _field(2, 1) + _field(8, name.encode()) + _field(9, values.astype("<f4", order="C").tobytes())


def _attribute(name: str, *, integer: int | None = None, ints: tuple[int, ...] = (), text: str = "") -> bytes:
    if integer is not None:
        return _field(1, name.encode()) + _field(3, integer) + _field(20, 2)
    if text:
        return _field(1, name.encode()) + _field(4, text.encode()) + _field(20, 3)
    return _field(1, name.encode()) + b"".join(_field(8, one) for one in ints) + _field(20, 7)


def _node(operator: str, inputs: tuple[str, ...], output: str, attributes: list[bytes] | None = None) -> bytes:
    names = b"".join(_field(1, name.encode()) for name in inputs)
    return (
        names
        + _field(2, output.encode())
        + _field(4, operator.encode())
        + b"".join(_field(5, attribute) for attribute in attributes or ())
    )


def _value(name: str, shape: tuple[int, ...]) -> bytes:
    """Describe an input or output of floats whose first dimension is free."""
    dimensions = _field(1, _field(2, b"n")) + b"".join(_field(1, _field(1, size)) for size in shape)
    tensor = _field(1, 1) + _field(2, dimensions)
    return _field(1, name.encode()) + _field(2, _field(1, tensor))
