"""What the worker uses of transformers and of the remote code of MiniCPM-o."""

from typing import Any

from librosa import Samples


class AutoTokenizer:
    @classmethod
    def from_pretrained(cls, weights: str, *, revision: str, trust_remote_code: bool) -> "AutoTokenizer":
        assert (weights, revision, trust_remote_code) == ("openbmb/MiniCPM-o-2_6", "main", True)
        return cls()


class AutoModel:
    @classmethod
    def from_pretrained(cls, weights: str, **fields: Any) -> "AutoModel":
        assert weights == "openbmb/MiniCPM-o-2_6"
        assert fields == {
            "revision": "main",
            "trust_remote_code": True,
            "attn_implementation": "sdpa",
            "torch_dtype": "bfloat16",
            "init_vision": False,
            "init_audio": True,
            "init_tts": False,
        }
        return cls()

    def eval(self) -> "AutoModel":
        return self

    def to(self, device: str) -> "AutoModel":
        assert device == "cuda"
        return self

    def chat(self, msgs: list[dict[str, Any]], tokenizer: Any, max_new_tokens: int, **fields: Any) -> str:
        assert isinstance(tokenizer, AutoTokenizer)
        assert max_new_tokens == 512
        assert fields == {"sampling": False, "num_beams": 1, "repetition_penalty": 1.2}
        [message] = msgs
        assert message["role"] == "user"
        text, *clips = message["content"]
        assert all(isinstance(clip, Samples) for clip in clips)
        return f"{' '.join(clips) or 'nothing'}: {text}"
