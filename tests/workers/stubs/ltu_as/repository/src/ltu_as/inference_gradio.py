"""The outline of the authors' demo: what the worker relies on, and no model."""

from pathlib import Path
from typing import Any

import gradio as gr
from stub_audio import describe
from transformers import GenerationConfig

temp, top_p, top_k = 0.1, 0.95, 500
assert Path("inference_gradio.py").is_file()  # it is run in its own folder
eval_log: list[dict[str, str]] = []
text_cache: dict[str, str] = {}


def generate(audio: str, question: str, generation_config: Any) -> str:
    assert generation_config.fields["do_sample"] is False
    assert generation_config.fields["repetition_penalty"] == 1.1
    return f"{audio}: {question}"


def predict(audio_path: str, question: str) -> str:
    print("audio path, ", audio_path)
    assert not eval_log
    assert not text_cache
    text_cache[audio_path] = describe(audio_path, 16_000)
    config = GenerationConfig(do_sample=True, temperature=temp, repetition_penalty=1.1, max_new_tokens=500)
    output = generate(text_cache[audio_path], question, config)
    eval_log.append({"output": output})
    return output


demo = gr.Interface(fn=predict)
