"""What the adapter makes of a checkpoint before, while and after it is loaded."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_folder, torch, transformers

from otoscope.audio import Audio
from otoscope.errors import ModelLoadingError, UnknownNameError, UsageError
from otoscope.models import Model, Request, load_model
from otoscope.models.checkpoint import find_checkpoint
from otoscope.models.local import digest_files

NOISE = np.random.default_rng(1).standard_normal(16_000).astype(np.float32)
HUM = np.sin(np.arange(16_000) / 20).astype(np.float32)


def load(folder: Path, **options: str) -> Model:
    return load_model(f"hf/{folder}", {"max_tokens": "8", "device": "cpu", **options})


def request(instruction: str = "What?", samples: np.ndarray = HUM) -> Request:
    return Request((Audio(samples, 16_000, "hum"),), instruction)


def copy_of(family: str, folder: Path) -> Path:
    return Path(shutil.copytree(tiny_folder(family), folder))


def edit(path: Path, **content: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **content}))


def test_a_model_is_known_before_its_weights_are_read(tmp_path: Path) -> None:
    folder = copy_of("qwen2_audio", tmp_path / "model")
    before = load(folder)
    assert load(folder).settings == before.settings
    (folder / "model.safetensors").write_bytes(b"not weights")
    digest_files.cache_clear()  # a process reads a file once
    after = load(folder)
    assert after.settings["revision"] != before.settings["revision"]
    assert after.settings["template"] == before.settings["template"]
    with pytest.raises(ModelLoadingError, match="cannot load its Qwen2AudioForConditionalGeneration"):
        after.answer([request()])


def test_what_can_change_an_answer_is_in_the_settings_and_the_batch_is_not(tmp_path: Path) -> None:
    folder = copy_of("qwen2_audio", tmp_path / "model")
    plain = load(folder)
    assert load(folder, batch="7").settings == plain.settings
    assert load(folder, batch="7").batch == 7
    changes = {"dtype": "float32", "attention": "eager", "max_tokens": "9", "prompt": "base", "compile": "yes"}
    for name, value in changes.items():
        assert load(folder, **{name: value}).settings != plain.settings
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    assert load(folder).settings["template"] != plain.settings["template"]


def test_a_base_model_is_given_the_clips_and_then_the_text() -> None:
    folder = tiny_folder("qwen2_audio")
    [chat], [base] = load(folder).answer([request()]), load(folder, prompt="base").answer([request()])
    seconds = chat.usage["prompt_tokens"] - base.usage["prompt_tokens"]
    assert seconds == len("<>user\n" + "<>\n" + "<>assistant\n") - 3  # each <> is one token of the turns' frame
    with pytest.raises(UsageError, match="prompt=base is for base models"):
        load(tiny_folder("voxtral"), prompt="base")


def test_the_longest_clip_is_what_the_processor_says(tmp_path: Path) -> None:
    folder = copy_of("qwen2_5_omni", tmp_path / "model")
    assert load(folder).intake.longest == 30
    path = folder / "processor_config.json"
    extractor = json.loads(path.read_text())["feature_extractor"]
    edit(path, feature_extractor={**extractor, "chunk_length": 300})
    assert load(folder).intake.longest == 300
    edit(path, feature_extractor={})
    (folder / "preprocessor_config.json").write_text('{"chunk_length": 120}')  # where older checkpoints say it
    assert load(folder).intake.longest == 120
    assert load(tiny_folder("musicflamingo")).intake.longest == 1800
    assert load(tiny_folder("audioflamingo3")).intake.longest == 600


def test_only_the_request_that_does_not_fit_is_lost() -> None:
    model = load(tiny_folder("qwen2_audio"), batch="4")
    good, bad = request(), request("Is <|AUDIO|> a word?")
    replies = model.answer([good, bad, good])
    assert [bool(reply.error) for reply in replies] == [False, True, False]
    assert "ValueError" in replies[1].error
    assert replies[0].answer == replies[2].answer == model.answer([good])[0].answer


def test_what_cannot_be_used_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copy_of("qwen2_audio", tmp_path / "model")
    with pytest.raises(UsageError, match="dtype=int8 is none of auto, bfloat16"):
        load(folder, dtype="int8")
    with pytest.raises(UsageError, match="no option 'temperature'"):
        load(folder, temperature="1")
    with pytest.raises(UnknownNameError, match="ORG/REPO"):
        load(Path("nowhere"))
    edit(folder / "config.json", model_type="wav2vec2")
    with pytest.raises(ModelLoadingError, match=r"wav2vec2 is not supported; there are audioflamingo3, .*voxtral"):
        load(folder)
    edit(folder / "config.json", model_type="phi4mm")
    with pytest.raises(ModelLoadingError, match="revision=refs/pr/70"):
        load(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(ModelLoadingError, match="not a JSON object"):
        load(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ModelLoadingError, match="names no model_type"):
        load(folder)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ModelLoadingError, match=r"needs torch: pip install 'otoscope\[transformers\]'"):
        load(folder)


def test_a_checkpoint_that_lacks_weights_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = copy_of("qwen2_audio", tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    lost = next(name for name in weights if "projector" in name)
    del weights[lost]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelLoadingError, match=r"1 weights of .* are not in the checkpoint, such as .*projector"):
        load(folder).answer([request()])


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's
def test_the_adapter_for_speech_is_loaded_where_the_checkpoint_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import peft

    # Each release of transformers asks for a newer peft than the package index may have; what is used is older.
    monkeypatch.setattr("transformers.integrations.peft.check_peft_version", lambda **_: None)
    folder = copy_of("phi4_multimodal", tmp_path / "model")
    bare = load(folder)
    requests = [request(samples=samples) for samples in (HUM, NOISE)]
    without = bare.answer(requests)
    model = transformers.Phi4MultimodalForCausalLM.from_pretrained(folder)
    low_rank = peft.LoraConfig(r=2, target_modules=r"model\.layers\.\d+\.self_attn\.o_proj", init_lora_weights=False)
    torch.manual_seed(0)
    peft.get_peft_model(model, low_rank).save_pretrained(str(folder / "speech-lora"))
    adapted = load(folder)
    assert adapted.settings["revision"] != bare.settings["revision"]
    assert [reply.answer for reply in adapted.answer(requests)] != [reply.answer for reply in without]
    shutil.rmtree(folder / "speech-lora")
    (folder / "speech-lora").mkdir()
    with pytest.raises(ModelLoadingError, match="its adapter speech-lora cannot be loaded"):
        load(folder).answer(requests)


def test_two_folders_with_the_same_files_are_one_model(tmp_path: Path) -> None:
    first, second = copy_of("voxtral", tmp_path / "a"), copy_of("voxtral", tmp_path / "b")
    assert find_checkpoint(str(first)).revision == find_checkpoint(str(second)).revision


OFFLINE = """
import sys
from tiny import torch
from test_adapter import request
from otoscope.models import load_model
model = load_model("hf/somebody/tiny", {"max_tokens": "4", "device": "cpu"})
[reply] = model.answer([request()])
print(model.id, model.settings["revision"], repr(reply.error), bool(reply.answer))
"""


def test_a_model_of_the_hub_is_named_by_its_commit(tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "hub" / "models--somebody--tiny"
    shutil.copytree(tiny_folder("qwen2_audio"), cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    tests = Path(__file__).parent
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tests), str(tests.parent)])
    result = subprocess.run(
        [sys.executable, "-c", OFFLINE], capture_output=True, text=True, check=False, env=environment
    )
    assert result.stdout == f"hf/somebody/tiny {commit} '' True\n", result.stderr
