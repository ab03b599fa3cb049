"""The published arithmetic as golden data, and what must hold of any counts."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.stats import exact_interval, mcnemar
from otoscope.sure.curves import det, rejection_at, risk_coverage, roc_auc, scod
from otoscope.sure.refusals import NOTHING, find_refusal, phrases
from otoscope.sure.score import Latency, Row, Share, behind_gate, mark, pair, tally

SUPPORTED, NON_SPEECH, BABBLE = 270, 150, 54


def published(right: int = 251, refused: int = 15) -> list[Row]:
    """Return the 474 rows, with so many right answers and refusals of the model alone."""
    rows = [Row(f"s{i}", "clean", "supported", f"c{i % 30}", supported=True, right=i < right) for i in range(SUPPORTED)]
    kinds = ["non-speech"] * NON_SPEECH + ["babble"] * BABBLE
    return rows + [
        Row(f"u{i}", kind, kind, f"c{i % 30}", supported=False, refused=i < refused) for i, kind in enumerate(kinds)
    ]


def admitted(rows: list[Row], turned_away: dict[str, int]) -> list[bool]:
    """Turn away the first so many rows of each kind."""
    left = dict(turned_away)
    found = []
    for row in rows:
        found.append(left.get(row.kind, 0) <= 0)
        left[row.kind] = left.get(row.kind, 0) - 1
    return found


def test_the_model_alone() -> None:
    counts = tally(published())
    assert (counts.supported, counts.unsupported) == (270, 204)
    assert counts.system_rejection == Share(15, 204)
    assert counts.system_rejection.value == pytest.approx(0.074, abs=5e-4)
    assert counts.gate_rejection == Share(0, 204)
    assert counts.supported_accuracy.value == pytest.approx(0.930, abs=5e-4)
    assert counts.reduction == Share(0, 474)


def test_the_model_behind_the_rule() -> None:
    rows = published()
    counts = tally(behind_gate(rows, admitted(rows, {"non-speech": 150, "babble": 46})))
    assert counts.gate_rejection == Share(196, 204)
    assert counts.system_rejection.value == pytest.approx(0.961, abs=5e-4)
    assert counts.retention == Share(270, 270)
    assert counts.supported_accuracy == Share(251, 270)
    assert counts.calls == Share(278, 474)
    assert f"{counts.reduction.value:.0%}" == "41%"


def test_silero_alone_turns_away_all_but_babble() -> None:
    rows = published(refused=0)
    counts = tally(behind_gate(rows, admitted(rows, {"non-speech": 150})))
    assert counts.gate_rejection.value == pytest.approx(0.735, abs=5e-4)


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (196, 204, 0.924, 0.983),
        (15, 204, 0.042, 0.118),
        (46, 54, 0.729, 0.934),
        (10, 270, 0.018, 0.067),
        (251, 270, 0.892, 0.957),
        (67, 70, 0.880, 0.991),
        (18, 54, 0.211, 0.475),
        (24, 54, 0.309, 0.586),
        (0, 270, 0.0, 0.0136),
    ],
)
def test_published_intervals(count: int, of: int, low: float, high: float) -> None:
    found = Share(count, of).interval
    assert found is not None
    assert found.low == pytest.approx(low, abs=5.1e-4)
    assert found.high == pytest.approx(high, abs=5.1e-4)
    assert found == exact_interval(count, of)


def test_published_seconds() -> None:
    latency = Latency(474, gate=474 * 0.080, asked=278 * 0.949, model=474 * 0.949)
    assert latency.without == pytest.approx(0.949)
    assert latency.behind == pytest.approx(0.637, abs=5e-4)
    assert latency.break_even == pytest.approx(0.084, abs=5e-4)
    assert Latency(1, 0.012, 0.949, 0.949).break_even == pytest.approx(0.013, abs=5e-4)
    assert Latency(1, 0.1, 0, 0).break_even is None
    unknown = Latency(2, 0.1, 0.3, None)
    assert (unknown.without, unknown.behind, unknown.break_even) == (None, 0.2, None)


def test_paired_counts_of_the_published_rule() -> None:
    rows = published()
    behind = behind_gate(rows, admitted(rows, {"non-speech": 150, "babble": 46}))
    unsupported = [(one, two) for one, two in zip(rows, behind, strict=True) if not one.supported]
    changed = pair([one for one, _ in unsupported], [two for _, two in unsupported])
    assert changed == (181, 0)
    assert mcnemar(*changed) == pytest.approx(6.5e-55, rel=0.01)
    assert mcnemar(189, 8) == pytest.approx(5e-46, rel=0.1)


def test_turning_everything_away_is_no_success() -> None:
    rows = published()
    counts = tally(behind_gate(rows, [False] * len(rows)))
    assert counts.system_rejection.value == 1
    assert counts.supported_accuracy.value == 0
    assert counts.retention.value == 0
    assert counts.wer is None


def test_a_refusal_of_a_supported_row_is_wrong_and_leaves_the_word_error_rate() -> None:
    rows = [
        Row("a", "clean", "supported", "a", supported=True, right=True, errors=1, words=10),
        Row("b", "clean", "supported", "b", supported=True, refused=True, errors=10, words=10),
    ]
    counts = tally(rows)
    assert counts.supported_accuracy == Share(1, 2)
    assert (counts.wer, counts.answered) == (0.1, 1)


def test_what_failed_counts_as_wrong_on_both_sides() -> None:
    rows = [
        Row("a", "clean", "supported", "a", supported=True, state="failed", right=True),
        Row("b", "tone", "non-speech", "b", supported=False, state="missing", refused=True),
    ]
    counts = tally(rows)
    assert (counts.failed, counts.right, counts.system_rejection) == (2, 0, Share(0, 1))
    assert tally(behind_gate(rows, [True, False])).system_rejection == Share(1, 1)


ROWS = st.lists(
    st.builds(
        Row,
        id=st.just("r"),
        family=st.sampled_from("fg"),
        kind=st.just("k"),
        cluster=st.sampled_from("abc"),
        supported=st.booleans(),
        state=st.sampled_from(["answered", "failed", "missing"]),
        right=st.booleans(),
        refused=st.booleans(),
        admitted=st.booleans(),
    )
)


@given(ROWS)
def test_every_row_is_counted_once(rows: list[Row]) -> None:
    counts = tally(rows)
    assert counts.supported + counts.unsupported == len(rows)
    assert counts.calls.count + counts.reduction.count == len(rows)
    assert counts.gate_rejection.count <= counts.system_rejection.count <= counts.unsupported
    assert counts.right <= counts.retained <= counts.supported
    families = [tally([row for row in rows if row.family == family]) for family in "fg"]
    assert sum(part.right for part in families) == counts.right
    assert sum(part.refused for part in families) == counts.refused


@pytest.mark.parametrize(
    ("target", "answer", "asked", "right"),
    [
        ("That agent is on.", "that agent is on", "transcribe", True),
        ("a b c d", "a b x y", "transcribe", True),
        ("a b c d", "a x y z", "transcribe", False),
        ("a b", "a b c d", "transcribe", False),
        ("that", "That.", "first-word", True),
        ("that", "That agent", "first-word", False),
    ],
)
def test_marks(target: str, answer: str, asked: str, right: bool) -> None:
    assert mark(target, answer, asked).right is right


@pytest.mark.parametrize(
    "answer",
    [
        "UNSUPPORTED",
        "Unsupported.",
        "No speech detected.",
        "I'm sorry, but I can't transcribe that.",
        "I am unable to hear anything.",
        "Sorry, I can not hear the audio",
        "Unfortunately, there is no clear speech in this recording.",
        "The audio is silent.",
        "The speaker doesn't mention an e-mail address.",
        "Please repeat that.",
        "There's no speech in the audio",
        "There\u2019s no speech.",
        "It's not mentioned.",
        "UNSUPPORTED: there is no speech",
        "Unsupported. The audio is silent.",
        "The answer is UNSUPPORTED",
        "The audio contains no speech",
        "Sorry, the audio contains no clear words.",
    ],
)
def test_refusals(answer: str) -> None:
    assert find_refusal(answer) in phrases()


@pytest.mark.parametrize(
    "answer",
    [
        "You",
        "I'm sorry there are no matches for those keywords.",
        "There are no more compatible entries in the directory.",
        "You cannot reply to this message because the sender does not have a mailbox.",
        "Please enter a mailbox number.",
        "That is unsupported by the conference.",
        "Silence fell over the house.",
        "The audio is silent film music",
        "no",
        "Nonetheless",
        "Unsupported by his friends, he left.",
        "The answer is none of these.",
        "The audio contains noise.",
        "There's no place like home.",
    ],
)
def test_what_might_be_a_refusal_is_an_answer(answer: str) -> None:
    assert find_refusal(answer) is None


def test_saying_the_target_is_no_refusal_and_nothing_is_one() -> None:
    assert find_refusal("I cannot hear you", "I cannot hear you.") is None
    assert find_refusal("I cannot hear you") is not None
    assert find_refusal(" ") == find_refusal("...") == NOTHING


@pytest.mark.parametrize(
    ("target", "answer", "asked", "refused"),
    [
        # right but for a word
        ("I cannot help thinking that we live in a valley", "I cannot help thinking we live in a valley", "", False),
        ("I could not help thinking of it", "I cannot help thinking of it", "", False),
        ("Unknown", "unknown.", "first-word", False),
        # wrong, and begins as the target does
        ("I cannot help thinking of you", "I cannot help drinking a view or two", "", False),
        ("There's no clear way out", "There is no clear speech in this.", "", True),
        ("There's no voice in the hall", "There is no voice and no words here today at all", "", False),
        # what was said is something else
        ("I cannot help thinking that we live in a valley", "There is no speech in the audio.", "", True),
        ("You are in a valley", "I cannot help with that.", "", True),
        ("I", "I cannot help with that.", "first-word", True),
        ("", "I cannot help with that.", "", True),
    ],
)
def test_what_may_be_a_transcript_is_no_refusal(target: str, answer: str, asked: str, refused: bool) -> None:
    assert (find_refusal(answer, target, asked) is not None) is refused


def test_areas_by_hand() -> None:
    areas = risk_coverage([0.9, 0.8, 0.7, 0.6], [0, 1, 0, 1])
    assert areas is not None
    assert areas.aurc == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4)
    assert areas.augrc == pytest.approx((0 + 1 + 1 + 2) / 16)
    assert risk_coverage([], []) is None


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9, float("-inf")]), st.booleans()), min_size=1), st.randoms())
def test_areas_do_not_depend_on_order(pairs: list[tuple[float, bool]], chance: random.Random) -> None:
    shuffled = chance.sample(pairs, len(pairs))
    first, second = (risk_coverage([s for s, _ in rows], [float(x) for _, x in rows]) for rows in (pairs, shuffled))
    assert first == pytest.approx(second)
    assert first is not None
    assert 0 <= first.augrc <= 1


def test_a_tie_is_every_order_at_once() -> None:
    tied = risk_coverage([1, 1], [0, 1])
    orders = [risk_coverage([2, 1], losses) for losses in ([0, 1], [1, 0])]
    assert tied is not None
    assert tied.aurc == pytest.approx(sum(one.aurc for one in orders if one) / 2)


def test_detection() -> None:
    supported, unsupported = [0.9, 0.8, 0.3], [0.1, 0.3, float("-inf"), 0.85]
    assert roc_auc(supported, unsupported) == pytest.approx((4 + 3 + 2.5) / 12)
    points = det(supported, unsupported)
    assert [point.threshold for point in points] == [0.1, 0.3, 0.8, 0.85, 0.9]
    assert points[0] == (0.1, 0, 0.75)
    assert points[1] == (0.3, 0, 0.5)
    assert rejection_at(points, 1.0) == 0.5
    assert rejection_at(points, 1 / 3) == 1.0
    assert rejection_at([], 1.0) is None
    assert roc_auc([], [1.0]) is None


def test_scod_risk() -> None:
    admits, fits, wrong = [True, True, True, False], [True, True, False, False], [False, True, False, False]
    assert scod(admits, fits, wrong, 0.5).risk == pytest.approx(1 / 3)
    assert scod(admits, fits, wrong, 0.5).coverage == 0.75
    assert scod(admits, fits, wrong, 0.9).risk == pytest.approx((0.1 + 0.9) / 3)
    assert scod([False], [True], [False], 0.5) == (None, 0.0)
