"""Maximum subsequence segmentation with learned scores: tokens, labels, local and global scores."""

from __future__ import annotations

import random
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.evaluate.studies.mss_model import (
    COUNTED,
    LOCAL,
    NaiveBayes,
    RunScore,
    Tokens,
    ends,
    features,
    label_tokens,
    learn_run_score,
    learn_scores,
    read_tokens,
)

STORY = (
    "the harbour was closed on tuesday because of the storm said the port in a statement to the press".split()
)


def page(rng: random.Random) -> tuple[str, str]:
    """A page with a menu, paragraphs full of links and long comments, and the text of the paragraphs."""
    menu = "".join(f"<li><a href=/x>{rng.choice(STORY)} {rng.choice(STORY)}</a></li>" for _ in range(12))
    parts = [[rng.choice(STORY) for _ in range(30)] for _ in range(6)]
    body = "".join(
        "<p>" + " ".join(f"<em>{word}</em>" if rng.random() < 0.3 else word for word in part) + "</p>"
        for part in parts[:3]
    )
    comments = "".join(f"<li>{' '.join(part)}</li>" for part in parts[3:])
    return f"<ul>{menu}</ul><div>{body}</div><ul>{comments}</ul>", " ".join(
        word for part in parts[:3] for word in part
    )


def test_tokens_are_words_and_tags_with_the_open_tag_around_them() -> None:
    html = "<DIV class=x>Port 12 <b>clo</b>sed<br>now<!-- no --><script>if (a<b) c</script></p></div> caf&eacute;"
    tokens = read_tokens(html)
    assert list(zip(tokens.names, tokens.around, strict=True)) == [
        ("<div>", "page"), ("port", "div"), ("00", "div"), ("<b>", "div"), ("clo", "b"), ("</b>", "b"),
        ("sed", "div"), ("<br>", "div"), ("now", "div"), ("</p>", "div"), ("</div>", "div"), ("café", "page"),
    ]  # fmt: skip
    assert tokens.text(0, len(tokens)) == "Port 12 closed\nnow\n\n café"
    assert list(features(tokens))[1] == ("port 00 <b>", "in div")


@pytest.mark.parametrize(
    "html", ["", "<", "a < b", "<p", "</p></p>", "<!-- open", "<script>open", "<p>" * 3000]
)
def test_bad_markup_has_tokens_too(html: str) -> None:
    tokens = read_tokens(html)
    assert len(tokens.names) == len(tokens.around) == len(tokens.texts) == len(tokens.is_word)


def test_labels_are_runs_of_shared_words_and_the_tags_between_them() -> None:
    tokens = read_tokens(
        "<p>menu one two</p><p>a storm closed <b>the</b> port</p><p>on Tuesday it said</p> one two"
    )
    labels = label_tokens(tokens, "A storm closed the port on Tuesday it said.")
    chosen = [name for name, label in zip(tokens.names, labels, strict=True) if label]
    assert chosen == "a storm closed <b> the </b> port </p> <p> on tuesday it said".split()
    assert tokens.text(*ends(labels)) == "a storm closed the port\n\non Tuesday it said"
    assert ends(label_tokens(tokens, "nothing of this")) == (0, 0)


def test_local_scores_are_odds_of_features_and_unseen_ones_say_nothing() -> None:
    tokens = read_tokens("<p>x y</p>")
    bayes = NaiveBayes().learn([(tokens, np.array([False, True, True, False]))])
    # 2 of 4 tokens are inside: even odds; "x y </p>" and "in p": 1 and 2 of 2 inside, "in p" 1 outside.
    expected = log(2 / 1) + log(3 / 2)
    assert bayes.chances(tokens)[1] == pytest.approx(1 / (1 + np.exp(-expected)))
    assert bayes.chances(read_tokens("<b>z"))[1] == pytest.approx(0.5)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 10)), max_size=25), st.tuples(*[st.integers(-3, 3)] * 3)
)
def test_the_best_run_has_the_largest_sum_of_all_runs(
    given: list[tuple[bool, int]], weights: tuple[int, int, int]
) -> None:
    tokens = Tokens(["x"] * len(given), ["p"] * len(given), ["x"] * len(given), [word for word, _ in given])
    run, chances = RunScore(*weights), np.array([tenths / 10 for _, tenths in given])
    scores = [
        (weights[0] if word else weights[1]) + weights[2] * (tenths / 10 - 0.5) for word, tenths in given
    ]
    best = max((sum(scores[i:j]) for i in range(len(given) + 1) for j in range(i, len(given) + 1)), default=0)
    start, stop = run.best_run(tokens, chances)
    assert sum(scores[start:stop]) == pytest.approx(best, abs=1e-9)


def test_learned_scores_find_articles_that_counts_and_local_scores_do_not() -> None:
    rng = random.Random(1)
    made = [page(rng) for _ in range(20)]
    pages = [(tokens := read_tokens(html), label_tokens(tokens, gold)) for html, gold in made]
    learned = learn_scores(pages[:10], [str(number) for number in range(10)])
    assert learned.run.word > 0 > learned.run.tag and learned.run.local > 0
    for tokens, labels in pages[10:]:
        assert tokens.text(*learned.run.best_run(tokens, learned.bayes.chances(tokens))) == learned.text(
            tokens
        )
        assert learned.text(tokens) == tokens.text(*ends(labels)) != learned.text(tokens, COUNTED)
        assert learned.text(tokens, LOCAL)
    # Chances that say nothing get no weight.
    even = [np.full(len(tokens), 0.5) for tokens, _ in pages]
    assert learn_run_score(pages, even).local == 0
