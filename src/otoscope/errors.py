"""The exception tree. Every message names the file, row or key, and says what to do.

OtoscopeError
├── UsageError                 a name or option the user gave is wrong (exit status 2)
│   ├── UnknownOptionError     the model takes no such option
│   └── UnknownNameError       the name is not known; the nearest ones are offered
├── TaskError                  a task, suite or rows file is wrong
│   └── DataUnavailableError   the rows of one task cannot be had; the others go on
├── AudioError                 one clip cannot be used; the others go on
│   ├── MissingAudioError
│   ├── UndecodableAudioError
│   ├── EmptyAudioError
│   ├── NonFiniteAudioError
│   ├── TruncatedAudioError
│   └── TooLongAudioError
├── ModelError                 a model cannot be loaded or called
│   ├── ModelLoadingError      nothing can be answered
│   └── ModelCallError         one request failed; the others go on
├── MetricError                a target or value does not fit its metric
│   └── UnreadableValueError   the value, not the target, is at fault; the sample counts as n/a
├── WeightsError               named weights cannot be had
│   ├── WeightsUnavailableError
│   └── WeightsMismatchError   the bytes are not the ones that were named
└── RunError                   a run folder cannot be used
    ├── RunLockedError         another process writes to it
    └── CorruptLogError        a line in the middle of a log is not a record
"""

import difflib
from collections.abc import Iterable


class OtoscopeError(Exception):
    """Base of every error that Otoscope raises on purpose."""


class UsageError(OtoscopeError, ValueError):
    """A name, option or combination of options given by the user is wrong."""


class UnknownOptionError(UsageError):
    """A model, or a part of one, takes no option of this name."""


class UnknownNameError(UsageError):
    """A name is not known. The message offers the nearest names.

    Args:
        what: what the name should have been, such as ``task`` or ``model``.
        name: the name that was given.
        known: every name that would have been accepted.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or names[:8]
        super().__init__(f"unknown {what} {name!r}; did you mean {', '.join(near)}?")


class TaskError(OtoscopeError, ValueError):
    """A task file, a suite file or a row of samples is wrong."""


class DataUnavailableError(TaskError):
    """The rows of one task cannot be fetched; the other tasks go on."""


class AudioError(OtoscopeError):
    """One clip cannot be used. ``reason`` is a stable word for logs and tables."""

    reason = "audio"


class MissingAudioError(AudioError, FileNotFoundError):
    """The audio file does not exist."""

    reason = "missing"


class UndecodableAudioError(AudioError):
    """No decoder can read the bytes."""

    reason = "undecodable"


class EmptyAudioError(AudioError):
    """The clip decodes to no samples."""

    reason = "empty"


class NonFiniteAudioError(AudioError):
    """The clip holds NaN or infinite samples."""

    reason = "non-finite"


class TruncatedAudioError(AudioError):
    """The file ends before the samples that its header announces."""

    reason = "truncated"


class TooLongAudioError(AudioError):
    """The clip exceeds the model's limit and the policy is to refuse, or a joined clip would vanish."""

    reason = "too-long"


class ModelError(OtoscopeError):
    """A model cannot be loaded or called."""


class ModelLoadingError(ModelError):
    """The model cannot be loaded, so nothing can be answered."""


class ModelCallError(ModelError):
    """One request failed; the others go on."""


class MetricError(OtoscopeError, ValueError):
    """A target or a value does not have the form that its metric needs."""


class UnreadableValueError(MetricError):
    """The value does not have the form that its metric needs; the target does, so only this sample is lost."""


class WeightsError(OtoscopeError):
    """Named weights cannot be had."""


class WeightsUnavailableError(WeightsError):
    """No source has the file; the message lists what was tried."""


class WeightsMismatchError(WeightsError):
    """A file's SHA-256 differs from the one in the table; it was not loaded."""


class RunError(OtoscopeError):
    """A run folder cannot be used."""


class RunLockedError(RunError):
    """Another process is writing to the run folder."""


class CorruptLogError(RunError):
    """A line that is not the last one of a log is not a record."""
