"""The model stage: samples in, predictions out, each request asked once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from otoscope.audio import Audio, LimitPolicy, fit, read_audio
from otoscope.errors import AudioError
from otoscope.models.local import local_threads
from otoscope.models.protocol import Model, Reply, Request
from otoscope.models.replay import request_digest
from otoscope.records import Prediction, PredictionStatus, Sample, add_usage, digest, dump_json
from otoscope.runner.engine import Engine, LocalEngine
from otoscope.runner.gating import FAILED, Gating, rejected_key
from otoscope.runner.log import Log
from otoscope.runner.spoken import Spoken
from otoscope.runner.stage import prepare_ahead, run_stage
from otoscope.text import clean_text

PREPARING = 8
"""Most threads that decode clips. Decoding leaves the interpreter free, but what surrounds it does not."""


class Keys(NamedTuple):
    """Where the logs hold what became of a sample.

    Attributes:
        prediction: key of its prediction.
        audio: digests of its decoded clips; none if one cannot be decoded.
    """

    prediction: str
    audio: tuple[str, ...] = ()


Told = Callable[[Sample, Keys], None]
Counted = Callable[[PredictionStatus], None]


@dataclass(frozen=True, slots=True)
class _Call:
    """What one sample asks the model: one request, or several for audio that was chunked."""

    key: str
    request: str
    sample: str
    requests: tuple[Request, ...]
    audio: tuple[str, ...]


class Predictor:
    """Asks a model about samples and logs what it answers.

    Args:
        model: the model.
        log: where predictions go; a key that has an answer there is not asked again, an error is.
        policy: what to do with audio longer than the model takes.
        batch: most requests a call, or None for what the model likes.
        gating: decides whether the model is asked at all; None asks always.
        spoken: keeps spoken answers.
        allow_cut: whether cutting joined clips may remove some of them whole. No key depends on it: without it such a
            sample has no answer.
        engine: asks the model; by default this process does.
    """

    def __init__(
        self,
        model: Model,
        log: Log,
        policy: LimitPolicy,
        batch: int | None = None,
        gating: Gating | None = None,
        *,
        spoken: Spoken,
        allow_cut: bool = False,
        engine: Engine | None = None,
    ) -> None:
        self._gating = gating
        self._engine = engine or LocalEngine(model)
        self._model = model
        self._log = log
        self._policy = policy
        self._spoken = spoken
        self._allow_cut = allow_cut
        self._batch = batch or model.batch
        settings = {**model.settings, "intake": asdict(model.intake), "long": policy}
        self._identity = digest(model.id, dump_json(settings))
        self._waiting: dict[str, int] = {}

    def run(self, samples: Iterable[Sample], tell: Told, count: Counted) -> None:
        """Make sure that every sample has a prediction in the log.

        Args:
            samples: the samples, read lazily.
            tell: called with each sample, in order, and where the logs hold what became of it.
            count: called once a sample, as soon as it has a prediction, with the prediction's status.
        """

        def emit(answered: tuple[Prediction, Sequence[Reply]]) -> None:
            prediction = self._spoken.keep(*answered)
            self._log.append(prediction.to_json())
            for _ in range(self._waiting.pop(prediction.key)):
                count(prediction.status)

        self._waiting.clear()  # a row that was wrong may have left calls of another task unasked
        calls = self._calls(samples, tell, count)
        run_stage(calls, self._answer, emit, batch=self._batch, concurrency=self._engine.concurrency)

    def _calls(self, samples: Iterable[Sample], tell: Told, count: Counted) -> Iterator[_Call]:
        """Yield a call for each request that has no answer yet."""
        for sample, prepared in prepare_ahead(samples, self._prepare, min(local_threads(), PREPARING)):
            try:
                call = prepared.result()
            except AudioError as error:
                tell(sample, Keys(self._fail(sample, error)))
                count("error")
                continue
            turned_away = self._turn_away(sample, call)
            if turned_away is not None:
                tell(sample, Keys(turned_away.key, call.audio))
                count(turned_away.status)
                continue
            tell(sample, Keys(call.key, call.audio))
            if self._is_known(call.key):
                count("ok")
            elif call.key in self._waiting:
                self._waiting[call.key] += 1
            else:
                self._waiting[call.key] = 1
                yield call

    def _prepare(self, sample: Sample) -> _Call:
        audios = [read_audio(clip.source, clip.name) for clip in sample.clips]
        content = tuple(audio.digest for audio in audios)
        request = request_digest(content, sample.instruction, sample.text)
        pieces = fit(audios, self._model.intake, self._policy, allow_cut=self._allow_cut) if audios else [[]]
        requests = tuple(Request(tuple(clips), sample.instruction, sample.text) for clips in pieces)
        return _Call(digest(request, self._identity), request, sample.id, requests, content)

    def _is_known(self, key: str) -> bool:
        """Tell whether the log has an answer, and see that this run's speech recognition wrote it down, if one did."""
        logged = self._log.get(key)
        if logged is None or logged["status"] != "ok":
            return False
        if not logged.get("asr"):
            return True
        renewed = self._spoken.renew(Prediction.from_json(logged))
        if renewed is not None and renewed.asr != logged["asr"]:
            self._log.append(renewed.to_json())
        return renewed is not None

    def _turn_away(self, sample: Sample, call: _Call) -> Prediction | None:
        """Log that the gate lets the model not be asked, and return that record; None where the model is asked."""
        if self._gating is None:
            return None
        decision = self._gating.decide(sample.clips, call.audio, sample.id)
        if decision.admit:
            return None
        # A gate that failed has found nothing, so the sample has no outcome yet; it is not asked about either.
        status: PredictionStatus = "error" if decision.reason == FAILED else "abstained"
        key = rejected_key(self._gating.gate.signature, call.key)
        prediction = Prediction(key, call.request, sample.id, self._model.id, status, reason=decision.reason)
        if key not in self._log:
            self._log.append(prediction.to_json())
        return prediction

    def _fail(self, sample: Sample, error: AudioError) -> str:
        """Log that a clip cannot be used, and return the key of that record."""
        key = digest("audio", sample.task, sample.id)
        reason = f"{error.reason}: {error}"
        logged = self._log.get(key)
        if logged is None or logged["reason"] != reason:
            self._log.append(Prediction(key, key, sample.id, self._model.id, "error", reason=reason).to_json())
        return key

    def _answer(self, calls: Sequence[_Call]) -> list[tuple[Prediction, Sequence[Reply]]]:
        requests = [request for call in calls for request in call.requests]
        answered = self._engine.ask(requests)
        seconds = answered.seconds / len(requests)
        waiting = iter(answered.replies)
        groups = [(call, [next(waiting) for _ in call.requests]) for call in calls]
        return [(self._predict(call, group, seconds), group) for call, group in groups]

    def _predict(self, call: _Call, replies: Sequence[Reply], seconds: float) -> Prediction:
        error = next((reply.error for reply in replies if reply.error), "")
        usage: dict[str, float] = {}
        for reply in replies:
            add_usage(usage, reply.usage)
        return Prediction(
            call.key,
            call.request,
            call.sample,
            self._model.id,
            "error" if error else "ok",
            "" if error else clean_text(" ".join(reply.answer for reply in replies)),
            clean_text(error),
            _changes(audio for request in call.requests for audio in request.audios),
            usage,
            round(seconds * len(replies), 4),
        )


def _changes(audios: Iterable[Audio]) -> tuple[str, ...]:
    """Return what was done to the clips, each change once, in order."""
    return tuple(dict.fromkeys(change for audio in audios for change in audio.changes))
