"""Metrics: one file a family, each metric two pure functions (see ``protocol.Metric``).

Where a published list has two names for one definition, both names are here and lead to one class.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeVar, get_args

from otoscope.errors import UnknownNameError, UsageError
from otoscope.metrics.beats import MissTime
from otoscope.metrics.edit import EditRate
from otoscope.metrics.intervals import EventF1, Iou, IouFormat, SpanF1
from otoscope.metrics.labels import JudgedAccuracy, NaRate, ValueAccuracy
from otoscope.metrics.numbers import AngleDifference, AngleUnit, Correlation, MeanError, MedianAbsoluteError
from otoscope.metrics.protocol import Metric, Pooling, Rows
from otoscope.metrics.slots import SlotTypeF1, SlotValueCer
from otoscope.metrics.speakers import DiarizationErrorRate
from otoscope.metrics.translation import SacreBleu, tokenizer_for
from otoscope.records import Kind

__all__ = ["IN_UNITS", "METRICS", "Metric", "MetricName", "Pooling", "Rows", "kind_of", "metric", "task_metric"]

MetricName = Literal[
    "accuracy",
    "angle_difference",
    "cer",
    "cer_raw",
    "diarization_error_rate",
    "entity_f1",
    "event_based_f1",
    "iou",
    "kendall_tau",
    "linear_correlation",
    "llm_judge_accuracy",
    "mae",
    "mean_absolute_difference",
    "median_absolute_error",
    "mer",
    "miss_time",
    "mse",
    "na_rate",
    "pearson",
    "pearson_correlation",
    "per",
    "pos_error_rate",
    "sacrebleu",
    "slot_type_f1",
    "slot_value_cer",
    "spearman_correlation",
    "token_error_rate",
    "wer",
    "wer_raw",
]

METRICS: Final[dict[MetricName, Metric]] = {
    "accuracy": JudgedAccuracy("accuracy"),
    "angle_difference": AngleDifference("angle_difference", unit="radians"),
    "cer": EditRate("cer", unit="character", normaliser="standard-1"),
    "cer_raw": EditRate("cer_raw", unit="any-character", normaliser="raw"),
    "diarization_error_rate": DiarizationErrorRate("diarization_error_rate"),
    "entity_f1": SpanF1("entity_f1"),
    "event_based_f1": EventF1("event_based_f1"),
    "iou": Iou("iou", of="spans"),
    "kendall_tau": Correlation("kendall_tau", kind="kendall"),
    "linear_correlation": Correlation("linear_correlation", kind="pearson"),
    "llm_judge_accuracy": JudgedAccuracy("llm_judge_accuracy"),
    "mae": MeanError("mae", error="absolute"),
    "mean_absolute_difference": MeanError("mean_absolute_difference", error="absolute"),
    "median_absolute_error": MedianAbsoluteError("median_absolute_error"),
    "mer": EditRate("mer", unit="mixed", normaliser="standard-1"),
    "miss_time": MissTime("miss_time"),
    "mse": MeanError("mse", error="squared"),
    "na_rate": NaRate("na_rate"),
    "pearson": Correlation("pearson", kind="pearson"),
    "pearson_correlation": Correlation("pearson_correlation", kind="pearson"),
    "per": EditRate("per", unit="word", normaliser="composed-1"),
    "pos_error_rate": EditRate("pos_error_rate", unit="word", normaliser="standard-1"),
    "sacrebleu": SacreBleu("sacrebleu"),
    "slot_type_f1": SlotTypeF1("slot_type_f1"),
    "slot_value_cer": SlotValueCer("slot_value_cer"),
    "spearman_correlation": Correlation("spearman_correlation", kind="spearman"),
    "token_error_rate": EditRate("token_error_rate", unit="listed", normaliser="folded-1"),
    "wer": EditRate("wer", unit="word", normaliser="standard-1"),
    "wer_raw": EditRate("wer_raw", unit="word", normaliser="raw"),
}

OF_ANSWERS: Final[frozenset[str]] = frozenset(
    {"cer", "cer_raw", "mer", "per", "pos_error_rate", "sacrebleu", "wer", "wer_raw"}
)
"""Metrics that compare the raw answer, and so go with sequences alone."""
IN_UNITS: Final[frozenset[str]] = frozenset(
    {"mae", "mean_absolute_difference", "median_absolute_error", "miss_time", "mse"}
)
"""Errors in the unit of the values, so that those of two tasks have no mean."""
OF_VERDICTS: Final[frozenset[str]] = frozenset({"accuracy", "llm_judge_accuracy"})
"""Metrics that count a judge's verdicts, and so go with classifications alone; but see ``metric`` for accuracy."""

_ANGLE_UNITS: Final = {"deg": "degrees", "degree": "degrees", "rad": "radians", "radian": "radians"}

T = TypeVar("T")


def metric(
    name: str,
    *,
    kind: Kind | None = None,
    language: str | None = None,
    format: str | None = None,  # noqa: A002
) -> Metric:
    """Return the metric of that name, as a task needs it. What a metric has no use for is ignored.

    Args:
        name: a key of ``METRICS``.
        kind: the task's kind. Of a regression, accuracy compares extracted values; of others, it counts verdicts.
        language: tag of the targets' language; chooses the tokenizer of BLEU.
        format: form of the targets: ``radians`` or ``degrees`` of angles, ``spans`` or ``set`` of iou.

    Raises:
        UnknownNameError: no metric has that name, or the metric knows no such form.
    """
    match name:
        case "accuracy" if kind == "regression":
            return ValueAccuracy(name)
        case "angle_difference" if format:
            return AngleDifference(name, unit=_known("unit of angles", format, get_args(AngleUnit)))
        case "iou" if format:
            return Iou(name, of=_known("form of iou targets", format, get_args(IouFormat)))
        case "sacrebleu" if language:
            return SacreBleu(name, tokenizer=tokenizer_for(language))
    return METRICS[_known("metric", name, get_args(MetricName))]


def task_metric(
    name: str, kind: Kind, *, languages: Sequence[str] = (), target_format: Mapping[str, Any] | None = None
) -> Metric:
    """Return the metric of that name as a task with these keys declares it.

    Args:
        name: a key of ``METRICS``.
        kind: the task's kind.
        languages: of the targets; BLEU needs all of them to have one tokenizer.
        target_format: its ``unit`` is that of angles, and its ``type`` tells lists of items from time spans in iou.

    Raises:
        UnknownNameError: no metric has that name, or the metric knows no such unit.
        UsageError: the metric does not fit the kind, or the languages need different tokenizers.
    """
    declared = target_format or {}
    fitting = _kinds(name)
    if kind not in fitting:
        raise UsageError(f"{name} scores a {' or a '.join(fitting)}, and the kind of this task is {kind}")
    match name:
        case "angle_difference":
            unit = str(declared.get("unit", "radians")).casefold()
            return metric(name, format=_ANGLE_UNITS.get(unit, unit))
        case "iou":
            return metric(name, format="set" if declared.get("type") == "list" else "spans")
        case "sacrebleu" if len(tokenizers := {tokenizer_for(tag): tag for tag in languages}) > 1:
            raise UsageError(
                f"{name} splits {' and '.join(tokenizers.values())} into words in different ways; name the language of "
                "the targets alone under languages"
            )
    return metric(name, kind=kind, language=next(iter(languages), None))


def kind_of(names: Sequence[str]) -> Kind:
    """Return the kind of a task that has these metrics and, as the benchmark's own task files, names no kind."""
    fitting = [_kinds(name) for name in names if name != "na_rate"]
    if any(kinds == ("sequence",) for kinds in fitting):
        return "sequence"
    return "regression" if any(kinds == ("regression",) for kinds in fitting) else "classification"


def _kinds(name: str) -> tuple[Kind, ...]:
    if name == "accuracy":
        return "classification", "regression"
    if name in OF_VERDICTS:
        return ("classification",)
    return ("sequence",) if name in OF_ANSWERS else ("regression",)


def _known(what: str, name: str, names: tuple[T, ...]) -> T:
    for known in names:
        if known == name:
            return known
    raise UnknownNameError(what, name, map(str, names))
