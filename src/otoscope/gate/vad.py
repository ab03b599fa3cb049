"""Voice activity: Silero by onnxruntime alone, and WebRTC's detector as a baseline."""

import functools
import importlib.util
from typing import TYPE_CHECKING, Any

from otoscope.errors import ModelLoadingError
from otoscope.gate.signal import Heard, Scores
from otoscope.models.local import find_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

RATE = 16_000
FRAME = 512
"""Samples a step of Silero, 32 ms."""
CONTEXT = 64
"""Samples of the step before, which the model sees again."""
ONSET, OFFSET = 0.5, 0.35
"""Speech begins at the first probability and ends under the second."""

WEBRTC_FRAME = 480
WEBRTC_MODE = 2
"""From 0, which lets most through, to 3."""


class Silero:
    """Silero VAD 6. Scores: ``silero``, seconds of speech, and ``silero_max``, the highest probability of a step.

    Args:
        spec: named weights or a path to ``silero_vad.onnx``.

    Raises:
        ModelLoadingError: onnxruntime is not installed.
    """

    def __init__(self, spec: str = "silero-vad") -> None:
        require("onnxruntime", spec)
        self._file, revision = find_file(spec, ".onnx")
        self.settings: Mapping[str, Any] = {"spec": spec, "revision": revision}

    @functools.cached_property
    def _session(self) -> Any:
        return onnx_session(str(self._file))

    def probabilities(self, samples: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return the probability of speech for every 32 ms of mono audio at 16 kHz; the end is padded with zeros."""
        import numpy as np

        padded = np.pad(samples, (CONTEXT, -len(samples) % FRAME)).astype(np.float32, copy=False)
        state, rate = np.zeros((2, 1, 128), np.float32), np.array(RATE, np.int64)
        found = np.empty(len(padded) // FRAME, np.float32)
        for index in range(len(found)):
            start = index * FRAME
            step = padded[np.newaxis, start : start + CONTEXT + FRAME]
            probability, state = self._session.run(None, {"input": step, "state": state, "sr": rate})
            found[index] = probability[0, 0]
        return found

    def measure(self, heard: Heard) -> Scores:
        """Return seconds of speech and the highest probability."""
        found = self.probabilities(heard.samples)
        return Scores({"silero": speech_seconds(found), "silero_max": float(found.max(initial=0.0))})


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


class WebRtc:
    """WebRTC's detector. Score: ``webrtc``, seconds of voiced frames. It calls white noise speech: a baseline only.

    Raises:
        ModelLoadingError: webrtcvad is not installed.
    """

    def __init__(self) -> None:
        require("webrtcvad", "webrtc", "webrtcvad-wheels")
        self.settings: Mapping[str, Any] = {"mode": WEBRTC_MODE}

    def measure(self, heard: Heard) -> Scores:
        """Return the seconds of voiced frames."""
        import numpy as np
        import webrtcvad

        detector = webrtcvad.Vad(WEBRTC_MODE)  # it remembers frames, so each clip gets its own
        whole = np.clip(heard.samples * 32767, -32768, 32767).astype("<i2")
        padded = np.pad(whole, (0, -len(whole) % WEBRTC_FRAME)).reshape(-1, WEBRTC_FRAME)
        voiced = sum(detector.is_speech(frame.tobytes(), RATE) for frame in padded)
        return Scores({"webrtc": voiced * WEBRTC_FRAME / RATE})


def require(module: str, what: str, package: str = "") -> None:
    """Refuse to start without a library.

    Raises:
        ModelLoadingError: it is not installed; the message has the command that installs it.
    """
    if importlib.util.find_spec(module) is None:
        remedy = package or "'otoscope[gate]'"
        raise ModelLoadingError(f"{what}: needs {package or module}: pip install {remedy}")


def onnx_session(model: str | bytes) -> Any:
    """Return an onnxruntime session on one thread; the steps are too small to share."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
