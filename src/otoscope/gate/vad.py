"""Voice activity: Silero by onnxruntime alone, and WebRTC's detector as a baseline."""

import functools
from typing import TYPE_CHECKING, Any

from otoscope.errors import ModelLoadingError
from otoscope.gate import onnx
from otoscope.gate.evidence import DC_OFFSET
from otoscope.gate.signal import RATE, Heard, Scores
from otoscope.models.local import find_file, require

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

FRAME = 512
"""Samples a step of Silero, 32 ms."""
CONTEXT = 64
"""Samples of the step before, which the model sees again."""
MIRRORED = 64
"""Samples that are added to a step by reflection at its end."""
HIDDEN = 128
STFT_SIZE = 256
STFT_HOP = 128
FRAMES = 4
"""Frames of the short-time spectrum in a step."""
ENCODER_STRIDES = (1, 2, 2, 1)
STEPS = 1024
"""Steps a call, 33 s; more would only take memory."""
BRANCH = "then_branch__Inline_0__"
"""In the names of the weights for 16 kHz; the others are for 8 kHz."""
ONSET, OFFSET = 0.5, 0.35
"""Speech begins at the first probability and ends under the second."""

WEBRTC_FRAME = 480
WEBRTC_MODE = 2
"""From 0, which lets most through, to 3."""


class Silero:
    """Silero VAD 6. Scores: ``silero``, seconds of speech, and ``silero_max``, the highest probability of a step.

    Its published graph takes one step of 32 ms a call. The same weights are run here in a graph that takes many steps:
    all but the recurrent layer is done for all of them at once, and a convolution over the four frames of a step is one
    product with a matrix.

    Args:
        spec: named weights or a path to ``silero_vad.onnx``.

    Raises:
        ModelLoadingError: onnxruntime is not installed.
    """

    def __init__(self, spec: str = "silero-vad") -> None:
        require("onnxruntime", f"{spec}:", "'otoscope[gate]'")
        self._file, revision = find_file(spec, ".onnx")
        self.settings: Mapping[str, Any] = {"spec": spec, "revision": revision}

    @functools.cached_property
    def _session(self) -> Any:
        return onnx.session(_many_steps(self._file))

    def probabilities(self, samples: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return the probability of speech for every 32 ms of mono audio at 16 kHz; the end is padded with zeros."""
        import numpy as np

        padded = np.pad(samples, (CONTEXT, -len(samples) % FRAME)).astype(np.float32, copy=False)
        steps = np.lib.stride_tricks.sliding_window_view(padded, CONTEXT + FRAME)[::FRAME]
        hidden = cell = np.zeros((1, 1, HIDDEN), np.float32)
        found = []
        for start in range(0, len(steps), STEPS):
            part = np.pad(steps[start : start + STEPS], ((0, 0), (0, MIRRORED)), mode="reflect")
            frames = np.lib.stride_tricks.sliding_window_view(part, STFT_SIZE, axis=1)[:, ::STFT_HOP]
            inputs = {"x": frames, "h": hidden, "c": cell}
            probabilities, hidden, cell = self._session.run(["p", "hn", "cn"], inputs)
            found.append(probabilities.ravel())
        return np.concatenate(found) if found else np.zeros(0, np.float32)

    def measure(self, heard: Heard) -> Scores:
        """Return seconds of speech and the highest probability."""
        found = self.probabilities(_without_offset(heard.samples))
        return Scores({"silero": speech_seconds(found), "silero_max": float(found.max(initial=0.0))})


def _many_steps(file: "Path") -> bytes:
    """Return the 16 kHz branch of the published model as a graph over many steps.

    Raises:
        ModelLoadingError: the file holds another model.
    """
    import numpy as np

    try:
        found = onnx.constants(file.read_bytes())
        weights = {name.split(BRANCH)[1]: value for name, value in found.items() if BRANCH in name}
        basis = weights["stft.forward_basis_buffer"]
        convolutions = [[weights[f"encoder.{i}.reparam_conv.{name}"] for name in ("weight", "bias")] for i in range(4)]
        recurrent = [_gates(weights[f"decoder.rnn.{name}"]) for name in ("weight_ih", "weight_hh")]
        biases = [_gates(weights[f"decoder.rnn.{name}"]) for name in ("bias_ih", "bias_hh")]
        last, shift = weights["decoder.decoder.2.weight"], weights["decoder.decoder.2.bias"]
    except (KeyError, IndexError, ValueError) as error:
        raise ModelLoadingError(f"{file}: not Silero VAD 6: {error}") from error
    half = len(basis) // 2
    tensors = [onnx.tensor("real", basis[:half, 0].T), onnx.tensor("imaginary", basis[half:, 0].T)]
    nodes = []
    for name in ("real", "imaginary"):
        nodes.append(onnx.node("MatMul", ["x", name], [f"{name}_part"]))
        nodes.append(onnx.node("Mul", [f"{name}_part"] * 2, [f"{name}_power"]))
    nodes.append(onnx.node("Add", ["real_power", "imaginary_power"], ["power"]))
    nodes.append(onnx.node("Sqrt", ["power"], ["magnitude"]))
    nodes.append(onnx.node("Flatten", ["magnitude"], ["e0"], axis=1))
    length = FRAMES
    for number, (stride, (kernel, bias)) in enumerate(zip(ENCODER_STRIDES, convolutions, strict=True)):
        matrix = _as_matrix(kernel, length, stride)
        length = matrix.shape[1] // len(bias)
        tensors += [onnx.tensor(f"w{number}", matrix), onnx.tensor(f"b{number}", np.tile(bias, length))]
        nodes.append(onnx.node("MatMul", [f"e{number}", f"w{number}"], [f"m{number}"]))
        nodes.append(onnx.node("Add", [f"m{number}", f"b{number}"], [f"c{number}"]))
        nodes.append(onnx.node("Relu", [f"c{number}"], [f"e{number + 1}"]))
    tensors += [onnx.tensor(name, value[np.newaxis]) for name, value in zip(("wi", "wh"), recurrent, strict=True)]
    tensors.append(onnx.tensor("bi", np.concatenate(biases)[np.newaxis]))
    tensors += [onnx.tensor("last", last.reshape(HIDDEN, 1)), onnx.tensor("shift", shift)]
    nodes += [
        onnx.node("Constant", [], ["axis"], value_ints=(1,)),
        onnx.node("Unsqueeze", ["e4", "axis"], ["sequence"]),
        onnx.node("LSTM", ["sequence", "wi", "wh", "bi", "", "h", "c"], ["y", "hn", "cn"], hidden_size=HIDDEN),
        onnx.node("Relu", ["y"], ["active"]),
        onnx.node("MatMul", ["active", "last"], ["product"]),
        onnx.node("Add", ["product", "shift"], ["logit"]),
        onnx.node("Sigmoid", ["logit"], ["p"]),
    ]
    state = (1, 1, HIDDEN)
    inputs = {"x": (None, FRAMES, STFT_SIZE), "h": state, "c": state}
    return onnx.model(nodes, tensors, inputs, {"p": (None, 1, 1, 1), "hn": state, "cn": state})


def _as_matrix(kernel: "NDArray[np.float32]", length: int, stride: int) -> "NDArray[np.float32]":
    """Return a convolution of width 3 over ``length`` frames, one zero on either side, as a matrix.

    Its rows are the frames' values one frame after another, its columns those of the frames that come out.
    """
    import numpy as np

    leaving, entering, width = kernel.shape
    starts = range(-1, length + 2 - width, stride)
    matrix = np.zeros((length, entering, len(starts), leaving), np.float32)
    for column, start in enumerate(starts):
        for tap in range(max(0, -start), min(width, length - start)):
            matrix[start + tap, :, column] = kernel[:, :, tap].T
    return matrix.reshape(length * entering, -1)


def _gates(values: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return an LSTM's weights with the gates in ONNX's order: torch has input, forget, cell, output."""
    import numpy as np

    enter, forget, cell, leave = np.split(values, 4)
    return np.concatenate([enter, leave, forget, cell])


def speech_seconds(probabilities: "NDArray[np.float32]") -> float:
    """Return the seconds of speech, with hysteresis; NaN if a probability is not between 0 and 1.

    There is no shortest stretch of speech: ``yes`` and ``no`` last less than the usual 250 ms.
    """
    import numpy as np

    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        return float("nan")
    # Each step takes the state of the last step that decided: above the onset on, under the offset off.
    decided = np.where(probabilities >= ONSET, 1, np.where(probabilities < OFFSET, -1, 0))
    last = np.maximum.accumulate(np.where(decided != 0, np.arange(len(decided)), -1))
    speech = (last >= 0) & (decided[last] == 1)
    return float(speech.sum()) * FRAME / RATE


def _without_offset(samples: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return samples whose mean is taken away where the gate flags it as an offset, beside which a detector is deaf.

    A smaller mean stays, so that other clips keep the scores that limits were chosen for.
    """
    import numpy as np

    mean = samples.mean(dtype=np.float64) if len(samples) else 0.0
    return samples - np.float32(mean) if abs(mean) > DC_OFFSET else samples


class WebRtc:
    """WebRTC's detector. Score: ``webrtc``, seconds of voiced frames. It calls white noise speech: a baseline only.

    Raises:
        ModelLoadingError: webrtcvad is not installed.
    """

    def __init__(self) -> None:
        require("webrtcvad", "webrtc:", "webrtcvad-wheels")
        self.settings: Mapping[str, Any] = {"mode": WEBRTC_MODE}

    def measure(self, heard: Heard) -> Scores:
        """Return the seconds of voiced frames."""
        import numpy as np
        import webrtcvad

        detector = webrtcvad.Vad(WEBRTC_MODE)  # it remembers frames, so each clip gets its own
        whole = np.clip(_without_offset(heard.samples) * 32767, -32768, 32767).astype("<i2")
        padded = np.pad(whole, (0, -len(whole) % WEBRTC_FRAME)).reshape(-1, WEBRTC_FRAME)
        voiced = sum(detector.is_speech(frame.tobytes(), RATE) for frame in padded)
        return Scores({"webrtc": voiced * WEBRTC_FRAME / RATE})
