"""The parts of a cascade: tiny models of the transformers library, and a transcription server on this machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MakeTask
from tiny import CHARACTERS, TEXT, WIDTH, make_tokenizer, numbers, save, transformers

import otoscope
from otoscope.audio import Audio
from otoscope.errors import ModelCallError, ModelLoadingError, UsageError
from otoscope.models import Request, load_chat, load_model
from otoscope.models.asr import load_asr
from otoscope.models.cascade import split_options

CHAT = "{% for turn in messages %}<{{ turn.role }}>{{ turn.content }}{% endfor %}<assistant>"
SPEECH_TOKENS = ("<|startoftranscript|>", "<|en|>", "<|de|>", "<|transcribe|>", "<|translate|>", "<|notimestamps|>")
RATE = 16_000


@pytest.fixture(scope="module")
def chat_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = make_tokenizer(CHAT)
    config = transformers.Qwen2Config(**TEXT, **numbers(tokenizer))
    model = transformers.Qwen2ForCausalLM(config)

    class Processor:
        """A chat model has a tokeniser only."""

        def __init__(self) -> None:
            self.tokenizer = tokenizer

        def save_pretrained(self, folder: Path) -> None:
            tokenizer.save_pretrained(folder)

    return save(tmp_path_factory.mktemp("chat"), model, Processor())


@pytest.fixture(scope="module")
def whisper_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vocabulary = {token: number for number, token in enumerate([*CHARACTERS, "<|endoftext|>", *SPEECH_TOKENS])}
    tokenizer = transformers.WhisperTokenizer(vocab=vocabulary, merges=[], unk_token="<unk>")
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in vocabulary}
    config = transformers.WhisperConfig(
        vocab_size=len(tokenizer),
        num_mel_bins=16,
        d_model=WIDTH,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=WIDTH,
        decoder_ffn_dim=WIDTH,
        max_target_positions=24,
        decoder_start_token_id=ids["<|startoftranscript|>"],
        eos_token_id=ids["<|endoftext|>"],
        pad_token_id=ids["<|endoftext|>"],
        bos_token_id=ids["<|endoftext|>"],
        suppress_tokens=[],
        begin_suppress_tokens=[],
    )
    model = transformers.WhisperForConditionalGeneration(config)
    generation = model.generation_config
    generation.is_multilingual = True
    generation.lang_to_id = {token: ids[token] for token in ("<|en|>", "<|de|>")}
    generation.task_to_id = {"transcribe": ids["<|transcribe|>"], "translate": ids["<|translate|>"]}
    generation.no_timestamps_token_id = ids["<|notimestamps|>"]
    processor = transformers.WhisperProcessor(transformers.WhisperFeatureExtractor(feature_size=16), tokenizer)
    letters = range(CHARACTERS.index("a"), CHARACTERS.index("z"))
    return save(tmp_path_factory.mktemp("whisper"), model, processor, letters)


def audio(seconds: float, seed: int) -> Audio:
    samples = np.random.default_rng(seed).standard_normal(round(seconds * RATE)).astype(np.float32)
    return Audio(samples * np.sin(np.arange(len(samples)) / (20 * seed)).astype(np.float32), RATE, f"{seed} {seconds}")


def test_whisper_hears_every_window_the_same_each_time(whisper_folder: Path) -> None:
    asr = load_asr(f"hf/{whisper_folder}", {"threads": "1", "device": "cpu"})
    texts = [asr.transcribe(audio(1.0, seed)).text for seed in (1, 2, 3)]
    assert len(set(texts)) > 1
    assert [asr.transcribe(audio(1.0, seed)).text for seed in (1, 2, 3)] == texts
    long = audio(40.0, 2)
    halves = [Audio(long.samples[: 30 * RATE], RATE, "a"), Audio(long.samples[30 * RATE :], RATE, "b")]
    assert asr.transcribe(long).text == " ".join(asr.transcribe(half).text for half in halves)
    assert asr.settings["asr"] == f"hf/{whisper_folder}"


def test_a_chat_model_answers_the_question_and_not_the_one_before(chat_folder: Path) -> None:
    chat = load_chat(f"hf/{chat_folder}", {"max_tokens": "8", "device": "cpu", "threads": "1"})
    questions = ["Why?", "What is a bell good for?", "No."]
    answers = [chat.chat("Be short.", question).answer for question in questions]
    assert [chat.chat("Be short.", question).answer for question in reversed(questions)] == answers[::-1]
    assert len(set(answers)) > 1
    assert chat.settings["temperature"] == 0


def test_what_is_no_whisper_and_what_has_no_template_is_said(chat_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelLoadingError, match="a qwen2, not a whisper"):
        load_asr(f"hf/{chat_folder}", {})
    with pytest.raises(UsageError, match="no option 'max_tokens'"):
        load_asr(f"hf/{chat_folder}", {"max_tokens": "3"})
    model = transformers.AutoModelForCausalLM.from_pretrained(chat_folder)
    model.save_pretrained(tmp_path)
    make_tokenizer(None).save_pretrained(tmp_path)
    with pytest.raises(ModelCallError, match="chat_template"):
        load_chat(f"hf/{tmp_path}", {}).chat("Be short.", "Why?")


def test_a_run_of_a_cascade_of_the_library(
    whisper_folder: Path, chat_folder: Path, make_task: MakeTask, tmp_path: Path
) -> None:
    task = make_task(3)
    options = {"max_tokens": "6", "device": "cpu", "asr.device": "cpu"}
    model = f"cascade/hf/{whisper_folder}+hf/{chat_folder}"
    result = otoscope.run(task, model=model, model_options=options, folder=tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["ok"] * 3
    assert len({row["answer"] for row in rows}) > 1
    assert otoscope.run(task, model=model, model_options=options, folder=tmp_path / "run").made == 0
    assert result.made > 0


class Transcriber(BaseHTTPRequestHandler):
    """A transcription endpoint that says how many bytes it got, and fails as the model's name says."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.path == "/v1/audio/transcriptions"
        assert b"RIFF" in body
        name = next(word for word in (b"down", b"odd", b"fine") if word in body)
        answer = {b"odd": {"words": []}, b"fine": {"text": f" heard {body.count(b'RIFF')} "}}.get(name, {"error": "x"})
        content = json.dumps(answer).encode()
        self.send_response(503 if name == b"down" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Transcriber)
    listening.daemon_threads = False
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}/v1"
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_a_transcription_server_is_told_apart_from_the_chat_model(server: str, chat_folder: Path) -> None:
    options = {"asr.base_url": server, "asr.retries": "0", "max_tokens": "4", "device": "cpu"}
    cascades = {
        name: load_model(f"cascade/openai/{name}+hf/{chat_folder}", options) for name in ("fine", "down", "odd")
    }
    request = Request((audio(0.1, 1),), "What?")
    assert [reply.error for reply in cascades["fine"].answer([request])] == [""]
    [refused], [strange] = cascades["down"].answer([request]), cascades["odd"].answer([request])
    assert refused.error == 'openai/down: HTTP 503: {"error": "x"}'
    assert "not a transcription" in strange.error
    settings = cascades["fine"].settings
    assert (settings["asr"], settings["asr_server"]) == ("openai/fine", f"{server}/")
    assert settings["llm"] == f"hf/{chat_folder}"


def test_a_transcript_is_trimmed_and_asked_for_once(server: str) -> None:
    asr = load_asr("openai/fine", {"base_url": server, "threads": "2"})
    assert asr.transcribe(audio(0.1, 1)).text == "heard 1"
    assert asr.concurrency == 8


def test_options_find_their_half() -> None:
    options = {"threads": "2", "asr.base_url": "a", "base_url": "b", "asr.threads": "1"}
    assert split_options(options) == ({"threads": "1", "base_url": "a"}, {"threads": "2", "base_url": "b"})
    with pytest.raises(UsageError, match="no option 'beam'"):
        load_model("cascade/whisper-tiny.en+smollm2-135m", {"asr.beam": "5"})
