"""The thirteen tasks of the starter suite: which clips, which labels."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starter.clips import VOICES, Clip, Library, cut, joined, mixed, white_noise
from starter.music import PROGRAMS, Note, drum_beat, melody, rendered

HERE = Path(__file__).parent

YES_NO = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Row:
    """One sample: its clips, its label, and the source that its interval is computed over."""

    clips: tuple[Clip, ...]
    label: str
    cluster: str
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spec:
    """One task; ``form`` holds the keys of task.json that only its kind has."""

    folder: str
    name: str
    kind: str
    metrics: tuple[str, ...]
    domain: str
    languages: tuple[str, ...]
    description: str
    rows: tuple[Row, ...]
    form: Mapping[str, Any] = field(default_factory=dict)


def build_tasks(root: Path) -> list[Spec]:
    """Return every task of the suite, made from the packages unpacked under ``root``."""
    library = Library(root)
    makers: tuple[Callable[[Library], Spec], ...] = (
        transcription_en,
        transcription_fr,
        language_identification,
        spoken_number,
        prompt_topic,
        speaker_verification,
        speaker_counting,
        speech_detection,
        sound_event,
        instrument,
        pitch,
        tempo,
        duration,
    )
    return [make(library) for make in makers]


def _prompt_row(library: Library, voice: str, key: str, label: str, **meta: Any) -> Row:
    clip = library.prompt(voice, key)
    return Row((clip,), label, clip.name, {"speaker": VOICES[voice].speaker, **meta})


def _choices(options: Sequence[str], synonyms: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {"options": list(options), "synonyms": {label: list(words) for label, words in synonyms.items()}}


def _number(unit: str, low: float, high: float) -> dict[str, Any]:
    return {"target_format": {"type": "number", "unit": unit, "low": low, "high": high}}


def transcription_en(library: Library) -> Spec:
    """English prompts of more than 3 s, and a sentence of an audiobook, with the texts of their sources."""
    lines = (HERE / "prompts-en.txt").read_text(encoding="utf-8").splitlines()
    texts = dict(line.split(": ", 1) for line in lines if not line.startswith(";"))
    rows = [_prompt_row(library, "allison-en", key, text) for key, text in texts.items()]
    book = library.librivox("0930")
    rows.append(Row((book,), library.librivox_text("0930"), book.name, {"speaker": "librivox"}))
    return Spec(
        "transcription-en",
        "English transcription",
        "sequence",
        ("wer", "cer"),
        "Speech/Speech Recognition",
        ("en",),
        "Write down English speech: telephone prompts and one sentence of an audiobook. "
        "The labels are the texts that their sources give.",
        tuple(rows),
    )


FRENCH = {
    "day-0": "dimanche",
    "day-1": "lundi",
    "day-2": "mardi",
    "day-3": "mercredi",
    "day-4": "jeudi",
    "day-5": "vendredi",
    "day-6": "samedi",
    "mon-0": "janvier",
    "mon-1": "février",
    "mon-2": "mars",
    "mon-3": "avril",
    "mon-4": "mai",
    "mon-5": "juin",
    "mon-6": "juillet",
    "mon-8": "septembre",
    "mon-9": "octobre",
    "mon-10": "novembre",
    "mon-11": "décembre",
}

FRENCH_LISTS = (
    "day-1 day-4 mon-0 mon-3",
    "day-2 mon-5 day-5 mon-9",
    "mon-1 mon-6 day-0 day-3",
    "day-6 mon-11 mon-2 day-1",
    "mon-8 day-2 mon-4 day-4",
    "day-5 day-0 mon-10 mon-1",
    "mon-3 day-3 mon-8 mon-0",
    "day-4 mon-6 day-6 mon-11",
    "mon-9 mon-2 day-1 day-5",
    "day-0 mon-4 day-2 mon-10",
)


def transcription_fr(library: Library) -> Spec:
    """Lists of French weekdays and months, joined from single recordings, so that the text is exact."""
    rows = []
    for number, keys in enumerate(map(str.split, FRENCH_LISTS), 1):
        parts = [library.prompt("june-fr", f"digits/{key}") for key in keys]
        clip = joined(parts, 0.25, f"french-list-{number:02d}")
        rows.append(Row((clip,), " ".join(FRENCH[key] for key in keys), clip.name, {"speaker": "june"}))
    return Spec(
        "transcription-fr",
        "French transcription",
        "sequence",
        ("wer", "cer"),
        "Speech/Speech Recognition",
        ("fr",),
        "Write down spoken lists of French weekdays and months. Each list was joined from recordings of single words, "
        "so its text is known by construction; no word can be written in figures.",
        tuple(rows),
    )


LANGUAGES = (
    ("allison-en", "vm-invalid-password"),
    ("allison-es", "privacy-unident"),
    ("june-fr", "ss-noservice"),
    ("carlo-it", "vm-nobox"),
    ("allison-en", "confbridge-remove-last-in"),
    ("allison-es", "vm-mailboxfull"),
    ("june-fr", "vm-tmpexists"),
    ("paola-it", "privacy-unident"),
    ("allison-es", "confbridge-pin"),
    ("june-fr", "privacy-prompt"),
    ("paola-it", "vm-rec-name"),
)


def language_identification(library: Library) -> Spec:
    """Prompts in four languages; one voice speaks both English and Spanish."""
    rows = [_prompt_row(library, voice, key, VOICES[voice].language) for voice, key in LANGUAGES]
    book = library.librivox("0890")
    rows.append(Row((book,), "English", book.name, {"speaker": "librivox"}))
    synonyms = {
        "Spanish": ["Castilian", "español"],
        "French": ["français"],
        "Italian": ["italiano"],
        "English": ["American English"],
    }
    return Spec(
        "language-identification",
        "Language identification",
        "classification",
        ("accuracy",),
        "Speech/Speaker & Language",
        ("en", "es", "fr", "it"),
        "Name the language of a recording of more than 2 s: three each in English, Spanish, French and Italian. "
        "One speaker appears in two languages, so the voice does not give the answer away.",
        tuple(rows),
        _choices(("English", "Spanish", "French", "Italian"), synonyms),
    )


NUMBERS = {
    "13": "thirteen",
    "30": "thirty",
    "14": "fourteen",
    "40": "forty",
    "15": "fifteen",
    "50": "fifty",
    "16": "sixteen",
    "60": "sixty",
    "17": "seventeen",
    "70": "seventy",
}


def spoken_number(library: Library) -> Spec:
    """Single English numbers in pairs that are easily confused."""
    return Spec(
        "spoken-number",
        "Spoken number",
        "classification",
        ("accuracy",),
        "Speech/Speech Recognition",
        ("en",),
        "Tell which number an English speaker says: a teen such as thirteen or a ten such as thirty. "
        "The label is the name of the source recording.",
        tuple(_prompt_row(library, "allison-en", f"digits/{number}", number) for number in NUMBERS),
        _choices(sorted(NUMBERS), {number: [word] for number, word in NUMBERS.items()}),
    )


TOPICS = {
    "voicemail": ("vm-tmpexists", "vm-whichbox", "vm-savefolder"),
    "conference call": ("confbridge-lock-no-join", "conf-noempty", "conf-leaderhasleft"),
    "company directory": ("dir-intro", "dir-nomatch", "dir-nomore"),
    "waiting line": ("queue-youarenext", "queue-periodic-announce", "queue-quantity2"),
}


def prompt_topic(library: Library) -> Spec:
    """English prompts; the group in the name of the source recording is the label."""
    order = [(topic, keys[i]) for i in range(3) for topic, keys in TOPICS.items()]
    synonyms = {
        "voicemail": ["voice mail", "mailbox"],
        "conference call": ["conference"],
        "company directory": ["directory"],
        "waiting line": ["call queue", "queue", "waiting queue"],
    }
    return Spec(
        "prompt-topic",
        "Topic of a telephone prompt",
        "classification",
        ("accuracy",),
        "Speech/Spoken Language Understanding",
        ("en",),
        "Tell what a telephone announcement is about from what it says. "
        "The label is the part of the telephone system that the source recording belongs to.",
        tuple(_prompt_row(library, "allison-en", key, topic) for topic, key in order),
        _choices(tuple(TOPICS), synonyms),
    )


PAIRS = (
    ("allison-en/vm-tempremoved", "allison-es/dir-nomatch"),
    ("carlo-it/dir-nomatch", "paola-it/vm-sorry"),
    ("june-fr/agent-pass", "june-fr/conf-onlyperson"),
    ("allison-es/conf-noempty", "paola-it/vm-tempremoved"),
    ("carlo-it/vm-savefolder", "carlo-it/conf-onlyperson"),
    ("june-fr/privacy-incorrect", "ivrvoice-ru/dir-nomore"),
    ("paola-it/vm-savefolder", "paola-it/conf-onlyperson"),
    ("librivox/0880", "allison-en/vm-nonumber"),
    ("allison-es/vm-sorry", "allison-en/demo-nomatch"),
    ("allison-en/conf-noempty", "june-fr/conf-waitforleader"),
)


def speaker_verification(library: Library) -> Spec:
    """Pairs of recordings: one speaker, also across languages, or two, also within one language."""

    def side(name: str) -> tuple[str, Clip]:
        voice, key = name.split("/")
        if voice == "librivox":
            return voice, library.librivox(key)
        return VOICES[voice].speaker, library.prompt(voice, key)

    rows = []
    for left, right in PAIRS:
        (speaker, clip), (speaker2, clip2) = side(left), side(right)
        speakers = sorted({speaker, speaker2})
        label = "yes" if len(speakers) == 1 else "no"
        rows.append(Row((clip, clip2), label, "+".join(speakers), {"speakers": speakers}))
    return Spec(
        "speaker-verification",
        "Speaker verification",
        "classification",
        ("accuracy",),
        "Speech/Speaker & Language",
        ("en", "es", "fr", "it", "ru"),
        "Tell whether two recordings have the same speaker. Two pairs with one speaker differ in language, and two "
        "pairs with two speakers share it. The label comes from the credits of the sources.",
        tuple(rows),
        _choices(YES_NO, {"yes": ["same speaker"], "no": ["different speakers"]}),
    )


CROWDS = (
    ("allison-en", "allison-en", "allison-en"),
    ("allison-en", "june-fr", "allison-en"),
    ("allison-en", "june-fr", "carlo-it"),
    ("june-fr", "june-fr", "june-fr"),
    ("carlo-it", "paola-it", "carlo-it"),
    ("paola-it", "allison-es", "ivrvoice-ru"),
    ("allison-en", "allison-es", "allison-en"),
    ("ivrvoice-ru", "june-fr", "june-fr"),
    ("june-fr", "carlo-it", "ivrvoice-ru"),
    ("carlo-it", "carlo-it", "carlo-it"),
    ("allison-es", "paola-it", "paola-it"),
    ("carlo-it", "allison-es", "paola-it"),
)

CROWD_KEYS = ("conf-leaderhasleft", "vm-msgsaved", "conf-noempty", "conf-extended")


def speaker_counting(library: Library) -> Spec:
    """Three phrases, always, by one, two or three speakers."""
    rows = []
    for number, voices in enumerate(CROWDS):
        keys = [CROWD_KEYS[(number + i) % len(CROWD_KEYS)] for i in range(3)]
        parts = [library.prompt(voice, key) for voice, key in zip(voices, keys, strict=True)]
        clip = joined(parts, 0.4, f"crowd-{number + 1:02d}")
        speakers = [VOICES[voice].speaker for voice in voices]
        rows.append(Row((clip,), str(len(set(speakers))), "+".join(sorted(set(speakers))), {"speakers": speakers}))
    return Spec(
        "speaker-counting",
        "Speaker counting",
        "classification",
        ("accuracy",),
        "Speech/Speaker & Language",
        ("en", "es", "fr", "it", "ru"),
        "Count the different speakers of a recording. Every recording was joined from three phrases, so the number "
        "of phrases does not give the answer away, and one speaker appears in two languages.",
        tuple(rows),
        _choices(("1", "2", "3"), {"1": ["one"], "2": ["two"], "3": ["three"]}),
    )


def speech_detection(library: Library) -> Spec:
    """Speech, also under noise and music, against music, sounds and noise."""
    music = library.hold_music("manolo_camp-morning_coffee", "Manolo Camp")
    noise = white_noise(5.0, 8000, 1)
    noisy = mixed(library.prompt("allison-en", "demo-nomatch"), white_noise(5.0, 8000, 2), 5, "speech-in-noise")
    over_music = mixed(library.prompt("june-fr", "vm-nobox"), music, 10, "speech-over-music")
    guitar = cut(library.sample("guit_em9", "Sub-d"), 0, 5, "sonicpi-guitar")
    clips = (
        (library.librivox("0890"), "yes", "librivox"),
        (library.effect("Percussion/Gong", "gong"), "no", ""),
        (noisy, "yes", "allison"),
        (guitar, "no", ""),
        (library.prompt("carlo-it", "queue-youarenext"), "yes", "carlo"),
        (library.effect("Human/Footsteps-1", "footsteps"), "no", ""),
        (library.prompt("ivrvoice-ru", "ss-noservice"), "yes", "ivrvoice"),
        (library.effect("Animal/Crickets", "crickets"), "no", ""),
        (over_music, "yes", "june"),
        (noise, "no", ""),
    )
    return Spec(
        "speech-detection",
        "Speech detection",
        "classification",
        ("accuracy",),
        "Audio/Signal-Characteristics Analysis",
        ("en", "fr", "it", "ru"),
        "Tell whether anybody speaks: speech, alone or under noise or music, against music, other sounds and noise.",
        tuple(Row((clip,), label, clip.name, {"speaker": who} if who else {}) for clip, label, who in clips),
        _choices(YES_NO, {}),
    )


EVENTS = {
    "rooster": "Animal/Rooster",
    "horse": "Animal/Horse",
    "wolf": "Animal/WolfHowl",
    "crickets": "Animal/Crickets",
    "cat": "Animal/Meow",
    "laughter": "Human/Laugh-male2",
    "footsteps": "Human/Footsteps-1",
    "church bell": "Effects/BellToll",
    "passing car": "Effects/CarPassing",
    "creaking door": "Effects/DoorCreak",
}


def sound_event(library: Library) -> Spec:
    """Animals, people and things; the name of the source recording is the label."""
    synonyms = {
        "rooster": ["cock", "cockerel", "cock-a-doodle-doo"],
        "horse": ["neigh", "whinny"],
        "wolf": ["howling wolf"],
        "crickets": ["cricket"],
        "cat": ["meow", "kitten"],
        "laughter": ["laugh", "laughing"],
        "footsteps": ["footstep", "steps"],
        "church bell": ["bell", "tolling bell"],
        "passing car": ["car", "car passing"],
        "creaking door": ["door", "creaky door", "squeaky door"],
    }
    rows = []
    for label, path in EVENTS.items():
        clip = library.effect(path, label.replace(" ", "-"))
        if clip.seconds < 1:  # one meow is too short to be heard out of any context
            clip = joined([clip] * 3, 0.4, f"{clip.name}-thrice")
        rows.append(Row((clip,), label, clip.name))
    return Spec(
        "sound-event",
        "Sound event classification",
        "classification",
        ("accuracy",),
        "Audio/Sound Event",
        (),
        "Name what makes a sound: an animal, a person or a thing. The label is the name of the source recording.",
        tuple(rows),
        _choices(tuple(EVENTS), synonyms),
    )


TUNES = ((67, 71, 74, 72, 69, 67), (74, 70, 67, 69, 65, 62))


def instrument(library: Library) -> Spec:
    """Two short tunes, each on six instruments."""
    names = ("piano", "violin", "trumpet", "flute", "guitar", "organ")
    rows = []
    for number, keys in enumerate(TUNES, 1):
        for name in names:
            clip = rendered(library.root, f"tune-{number}-{name}", melody(keys, 0.45), name, 3.4)
            rows.append(Row((clip,), name, name, {"program": PROGRAMS[name]}))
    synonyms = {
        "piano": ["grand piano"],
        "violin": ["fiddle"],
        "guitar": ["acoustic guitar", "classical guitar"],
        "organ": ["church organ", "pipe organ"],
    }
    return Spec(
        "instrument",
        "Instrument recognition",
        "classification",
        ("accuracy",),
        "Music/Music Classification",
        (),
        "Name the instrument that plays a short tune. Both tunes are played by all six instruments, rendered from "
        "sampled instruments, so the label is exact and the notes do not give it away.",
        tuple(rows),
        _choices(names, synonyms),
    )


NOTES = (
    ("piano", 48),
    ("violin", 69),
    ("flute", 81),
    ("guitar", 52),
    ("trumpet", 65),
    ("piano", 76),
    ("cello", 45),
    ("flute", 72),
    ("violin", 57),
    ("piano", 63),
)


def pitch(library: Library) -> Spec:
    """Single notes; the label is the equal-tempered frequency of the key, with A4 = 440 Hz."""
    rows = []
    for name, key in NOTES:
        clip = rendered(library.root, f"note-{name}-{key}", [Note(0, 2, key)], name, 2.2)
        rows.append(Row((clip,), f"{440 * 2 ** ((key - 69) / 12):.2f}", name, {"midi": key}))
    return Spec(
        "pitch",
        "Pitch of a note",
        "regression",
        ("mae", "mse", "pearson"),
        "Music/Harmony & Pitch",
        (),
        "Give the fundamental frequency of one note in Hz. The notes are rendered from sampled instruments; "
        "the label is the equal-tempered frequency of the key that was played, with A4 at 440 Hz.",
        tuple(rows),
        _number("Hz", 60, 1000),
    )


TEMPI = (96, 132, 72, 160, 108, 84, 144, 120, 176, 66)


def tempo(library: Library) -> Spec:
    """Drum patterns of one length; the label is the tempo that they were rendered at."""
    rows = []
    for bpm in TEMPI:
        clip = rendered(library.root, f"drums-{bpm}", drum_beat(bpm, 8), "drums", 8)
        rows.append(Row((clip,), str(bpm), clip.name))
    return Spec(
        "tempo",
        "Tempo of a drum pattern",
        "regression",
        ("mae", "mse", "pearson"),
        "Music/Rhythm Analysis",
        (),
        "Give the tempo of a drum pattern in beats per minute. Bass drum and snare fall on the beats in turn; "
        "every clip lasts 8 s and was rendered at the tempo of its label.",
        tuple(rows),
        _number("beats per minute", 40, 220),
    )


def duration(library: Library) -> Spec:
    """Speech, sounds and music of 1 to 16 s, mostly clips of the other tasks."""
    clips = (
        library.prompt("allison-en", "vm-nobox"),
        library.effect("Human/Laugh-male2", "laughter"),
        library.librivox("0870"),
        library.effect("Percussion/Gong", "gong"),
        library.prompt("allison-en", "digits/13"),
        rendered(library.root, "tune-1-flute", melody(TUNES[0], 0.45), "flute", 3.4),
        library.prompt("allison-en", "dir-intro"),
        library.effect("Effects/DoorCreak", "creaking-door"),
        library.prompt("allison-en", "tt-allbusy"),
        library.prompt("allison-en", "demo-abouttotry"),
    )
    return Spec(
        "duration",
        "Duration of a clip",
        "regression",
        ("mse", "mae"),
        "Audio/Signal-Characteristics Analysis",
        ("en",),
        "Give the length of a clip of speech, sound or music in seconds. "
        "The label is the number of decoded samples over the sampling rate.",
        tuple(Row((clip,), f"{clip.seconds:.3f}", clip.name) for clip in clips),
        _number("s", 0, 20),
    )


def read_instructions() -> dict[str, list[str]]:
    """Return the instructions of each task; ``{options}`` stands for its options."""
    content: dict[str, list[str]] = json.loads((HERE / "instructions.json").read_text(encoding="utf-8"))
    return content
