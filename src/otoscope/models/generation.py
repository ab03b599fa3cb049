"""Load a model of the transformers library, and let it answer greedily."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from otoscope.errors import ModelLoadingError, UsageError
from otoscope.models.chat import MAX_TOKENS
from otoscope.models.checkpoint import EXTRA, Checkpoint
from otoscope.models.local import require, wait_without_spinning
from otoscope.models.protocol import Reply
from otoscope.models.remote import check_options, read_count
from otoscope.text import clean_text

BATCH = 4
DTYPES = ("auto", "bfloat16", "float16", "float32")
SWITCHES = ("no", "yes")
OPTIONS = ("attention", "batch", "compile", "device", "dtype", "max_tokens", "revision")


@dataclass(frozen=True, slots=True)
class Runtime:
    """How a model is run.

    Attributes:
        dtype: of weights and sums; ``auto`` is what the checkpoint was saved in.
        device: such as ``cpu``, ``cuda:1``, or ``auto`` to spread it over all; empty means CUDA where there is one.
        attention: such as ``eager``, ``sdpa`` or ``flash_attention_2``; empty means the library's choice.
        compiled: whether ``torch.compile`` is used.
        max_tokens: longest answer.
        batch: most requests at once.
    """

    dtype: str
    device: str
    attention: str
    compiled: bool
    max_tokens: int
    batch: int

    @property
    def settings(self) -> dict[str, Any]:
        """What of it can change an answer, be it by rounding."""
        return {
            "dtype": self.dtype,
            "attention": self.attention or "default",
            "compile": self.compiled,
            "max_tokens": self.max_tokens,
            "temperature": 0,
        }


def read_runtime(model: str, options: Mapping[str, str], known: Sequence[str] = OPTIONS) -> Runtime:
    """Return how the user wants the model to be run.

    Raises:
        UsageError: an option is not among ``known``, or has no such value.
        ModelLoadingError: torch or transformers is not installed.
    """
    check_options(model, options, known)
    for library in ("torch", "transformers"):
        require(library, f"{model}:", EXTRA)
    return Runtime(
        read_choice(model, options, "dtype", DTYPES),
        options.get("device", ""),
        options.get("attention", ""),
        read_choice(model, options, "compile", SWITCHES) == "yes",
        read_count(model, options, "max_tokens", MAX_TOKENS),
        read_count(model, options, "batch", BATCH),
    )


def read_choice(model: str, options: Mapping[str, str], name: str, choices: Sequence[str]) -> str:
    """Return an option that is one of ``choices``; the first is the default.

    Raises:
        UsageError: it is none of them.
    """
    value = options.get(name, choices[0])
    if value not in choices:
        raise UsageError(f"{model}: {name}={value} is none of {', '.join(choices)}")
    return value


def load_part(kind: str, checkpoint: Checkpoint, **arguments: Any) -> Any:
    """Return ``kind.from_pretrained`` of the checkpoint, where ``kind`` is a class of the transformers library.

    Raises:
        ModelLoadingError: the library has no such class or cannot load the files; the message says why.
    """
    wait_without_spinning()
    import transformers
    from safetensors import SafetensorError

    transformers.utils.logging.disable_progress_bar()
    try:
        return getattr(transformers, kind).from_pretrained(**checkpoint.source, **arguments)
    except AttributeError as error:
        version = transformers.__version__
        raise ModelLoadingError(
            f"{checkpoint.spec}: transformers {version} lacks {error.name or kind}: pip install {EXTRA} --upgrade"
        ) from error
    except (ImportError, KeyError, OSError, RuntimeError, SafetensorError, TypeError, ValueError) as error:
        raise ModelLoadingError(f"{checkpoint.spec}: transformers cannot load its {kind}: {error}") from error


def load_weights(kind: str, checkpoint: Checkpoint, runtime: Runtime) -> Any:
    """Return the model, ready to be asked.

    Raises:
        ModelLoadingError: it cannot be loaded, or there is no such device.
    """
    import torch

    chosen = {"attn_implementation": runtime.attention} if runtime.attention else {}
    device = runtime.device or ("cuda" if torch.cuda.is_available() else "cpu")
    model, found = load_part(
        kind, checkpoint, dtype=runtime.dtype, device_map=device, output_loading_info=True, **chosen
    )
    absent = sorted(found["missing_keys"])
    if absent:  # the library would draw them at random, and the answers would look like answers
        raise ModelLoadingError(
            f"{checkpoint.spec}: {len(absent)} weights of {kind} are not in the checkpoint, such as {absent[0]}"
        )
    model.eval()
    if runtime.compiled:
        model.compile()
    return model


def decode_greedily(model: Any, tokenizer: Any, max_tokens: int) -> None:
    """Replace the sampling, penalties and limits that the checkpoint came with; only its end tokens are kept."""
    import transformers

    ends = model.generation_config.eos_token_id
    if ends is None:
        ends = tokenizer.eos_token_id
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    model.generation_config = transformers.GenerationConfig(
        do_sample=False,
        num_beams=1,
        max_new_tokens=max_tokens,
        bos_token_id=model.generation_config.bos_token_id,
        eos_token_id=ends,
        pad_token_id=tokenizer.pad_token_id,
    )


def generate(model: Any, tokenizer: Any, inputs: Any) -> list[Reply]:
    """Return what the model adds to each prompt of a batch that is padded on the left.

    Raises:
        RuntimeError: the memory does not suffice, or the inputs do not fit the model.
        ValueError: the inputs do not fit the model.
    """
    import torch

    ready = {
        name: value.to(model.device, model.dtype if value.is_floating_point() else value.dtype)
        for name, value in inputs.items()
    }
    with torch.inference_mode():
        output = model.generate(**ready)
    prompts = ready["attention_mask"].sum(dim=1).tolist()
    added = output[:, ready["input_ids"].shape[1] :]
    texts = tokenizer.batch_decode(added, skip_special_tokens=True)
    counts = (added != tokenizer.pad_token_id).sum(dim=1).tolist()
    return [
        Reply(clean_text(text.strip()), usage={"prompt_tokens": prompt, "completion_tokens": count})
        for text, prompt, count in zip(texts, prompts, counts, strict=True)
    ]
