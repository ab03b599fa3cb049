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
from otoscope.gate import onnx
from otoscope.gate.signal import Heard, Scores, Signal
from otoscope.gate.spectrum import HOP, blocks, magnitudes, mel_filters
from otoscope.models.local import find_folder, require

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
SIZE = 2
"""Number of the field that holds a dimension of a variable's shape."""

AST_FILES = ("model.safetensors", "config.json", "preprocessor_config.json")


class Yamnet:
    """YAMNet. Scores: ``speech`` and ``crowd``, the highest probability of such a class in any 0.96 s.

    Args:
        spec: named weights, or a folder with the checkpoint's variables and the class map.

    Raises:
        ModelLoadingError: onnxruntime is not installed, or the checkpoint is another one.
    """

    def __init__(self, spec: str = "yamnet") -> None:
        require("onnxruntime", f"{spec}:", "'otoscope[gate]'")
        self._folder, revision = find_folder(spec, CHECKPOINT)
        self.settings: Mapping[str, Any] = {"spec": spec, "revision": revision}

    @functools.cached_property
    def classes(self) -> list[str]:
        """Names of the 521 classes, in the order of ``tag``'s columns."""
        with (self._folder / CHECKPOINT[2]).open(encoding="utf-8", newline="") as file:
            return [row["display_name"] for row in csv.DictReader(file)]

    @functools.cached_property
    def _session(self) -> Any:
        return onnx.session(to_onnx(read_checkpoint(self._folder)))

    def tag(self, samples: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return probabilities, shape (patches, 521), of mono audio at 16 kHz; the end is padded to a whole patch."""
        import numpy as np

        hop = PATCH_HOP * HOP
        excess = max(0, len(samples) - PATCH_SAMPLES)
        padded = np.pad(samples, (0, PATCH_SAMPLES + -(-excess // hop) * hop - len(samples)))
        filters = mel_filters(MELS, *MEL_RANGE)
        log_mel = np.concatenate([np.log(magnitudes(block) @ filters + 0.001) for block in blocks(padded)])
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
            require(library, f"{spec}:", library)
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
        _, at = onnx.varint(footer, 0)  # the first handle is of the metaindex, which says nothing here
        _, at = onnx.varint(footer, at)
        for _, handle in _entries(index, *_handle(footer, at)):
            for name, value in _entries(index, *_handle(handle, 0)):
                entry = dict(onnx.fields(value))
                if not name or entry.get(1) != 1:  # a header without a name, and types other than float
                    continue
                sizes = (dict(onnx.fields(one)) for number, one in onnx.fields(entry.get(2, b"")) if number == SIZE)
                shape = [size.get(1, 0) for size in sizes]
                start, size = entry.get(4, 0), entry[5]
                variables[name.decode()] = np.frombuffer(data[start : start + size], "<f4").reshape(shape)
    except (IndexError, KeyError, ValueError, TypeError, struct.error) as error:
        raise ModelLoadingError(f"{folder}: not the checkpoint of YAMNet: {error}") from error
    return variables


def _handle(data: bytes, at: int) -> tuple[int, int]:
    offset, at = onnx.varint(data, at)
    return offset, onnx.varint(data, at)[0]


def _entries(table: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of one block of the table; a key is stored as what differs from the one before."""
    block = table[offset : offset + size]
    end = size - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    at, key = 0, b""
    while at < end:
        shared, at = onnx.varint(block, at)
        own, at = onnx.varint(block, at)
        length, at = onnx.varint(block, at)
        key = key[:shared] + block[at : at + own]
        yield key, block[at + own : at + own + length]
        at += own + length


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
        tensors.extend([onnx.tensor(weight, kernel * scale[:, None, None, None]), onnx.tensor(bias, shift)])
        nodes.append(
            onnx.node(
                "Conv", [current, weight, bias], [out], strides=(stride,) * 2, group=groups, auto_pad="SAME_UPPER"
            )
        )
        nodes.append(onnx.node("Relu", [out], [current := f"r{layer}"]))
        layer += 2

    convolve("kernel", 2, 1)
    for stride, wider in LAYERS:
        convolve("depthwise_kernel", stride, channels)
        convolve("kernel", 1, 1)
        channels = wider
    tensors.extend([onnx.tensor("w", variable(layer, "kernel")), onnx.tensor("b", variable(layer, "bias"))])
    nodes += [
        onnx.node("GlobalAveragePool", [current], ["pooled"]),
        onnx.node("Flatten", ["pooled"], ["flat"]),
        onnx.node("Gemm", ["flat", "w", "b"], ["logits"]),
        onnx.node("Sigmoid", ["logits"], ["scores"]),
    ]
    classes = len(variable(layer, "bias"))
    return onnx.model(nodes, tensors, {"x": (None, 1, PATCH, MELS)}, {"scores": (None, classes)})
