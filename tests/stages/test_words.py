"""What is one token and what is the same token, in many scripts: the promises made to people, by example."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pytest

from neardup.columns import Texts
from neardup.text.words import Words


def words(text: str, tokens: str = "words") -> list[int]:
    """The hashes of a text's tokens."""
    return Words(tokens)(Texts.from_strings([text])).hashes.tolist()


def same(*texts: str) -> bool:
    """Whether all texts have the same tokens."""
    return len({tuple(words(text)) for text in texts}) == 1


def different(*texts: str) -> bool:
    """Whether no two texts have the same tokens."""
    return len({tuple(words(text)) for text in texts}) == len(texts)


# Case


def test_case_does_not_matter() -> None:
    assert same("Hello World", "HELLO WORLD", "hello world")
    assert same("ПРИВЕТ", "привет")
    assert same("Ǆ", "ǅ", "ǆ")
    assert same("ⱥ", "Ⱥ"), "the lower-case letter takes a byte more"
    assert same("k", "K", "\u212a"), "the Kelvin sign folds to a letter of one byte"


def test_sharp_s_is_a_letter_and_not_two() -> None:
    """Simple folding changes letter for letter: ß is ẞ, and STRASSE is another spelling."""
    assert same("Straße", "STRAẞE", "straße")
    assert different("Straße", "STRASSE")


def test_sigma_is_one_letter_in_every_place() -> None:
    assert same("ΣΑΣ", "σας", "σασ")


def test_turkish_i_with_and_without_dot_are_letters_of_their_own() -> None:
    """The folding knows no language: I is i, while İ and ı stay what they are."""
    assert same("ISPARTA", "isparta")
    assert different("İstanbul", "Istanbul", "ıstanbul")


def test_ligatures_stay_and_full_width_latin_is_latin() -> None:
    """NFC keeps what only looks alike (NFKC would not)."""
    assert different("ﬁsh", "fish")
    assert same("ＡＢＣ", "ａｂｃ")
    assert same("ＡＢＣ１", "ABC1")
    assert different("x²", "x2")


# Normal form


@pytest.mark.parametrize("text", ["Zoë café", "Ångström", "việt nam", "한국어", "が", "क़", "שׁ", "ά"])
def test_composed_and_decomposed_texts_have_the_same_tokens(text: str) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert same(text, *forms)
    assert len(words(forms[1])) == len(words(text))


def test_accents_count_and_their_order_does_not() -> None:
    assert different("resume", "résumé")
    assert same("a\u0323\u0307", "a\u0307\u0323")


def test_one_document_that_must_be_normalised_leaves_its_neighbours_alone() -> None:
    array = pa.array(["no", "cafe\u0301", None, "Zoë", "café"])[1:]
    tokens = Words()(Texts.from_arrow(array))
    assert tokens.offsets.tolist() == [0, 1, 1, 2, 3]
    assert tokens.hashes.tolist() == words("café") + words("Zoë") + words("café")


# What is not seen


@pytest.mark.parametrize(
    "invisible",
    ["\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u200f", "\u202a", "\ufe0f", "\U000e0101"],
    ids=lambda char: f"U+{ord(char):04X}",
)
def test_soft_hyphens_joiners_and_direction_marks_are_as_if_they_were_not_there(invisible: str) -> None:
    assert same("together", f"to{invisible}gether", f"{invisible}together{invisible}")
    assert words(invisible) == []


def test_persian_with_a_non_joiner_is_one_word() -> None:
    assert same("می\u200cخواهم", "میخواهم")
    assert len(words("می\u200cخواهم")) == 1


@pytest.mark.parametrize(
    "separator", [" ", "\0", "\n", "\r\n", "\u0085", "\u00a0", "\u2028", "\u2029", "\u3000"]
)
def test_blanks_and_controls_separate_words(separator: str) -> None:
    assert words(f"one{separator}two") == words("one two")


@pytest.mark.parametrize("separator", list(".,;:!?-–—_'’\"«»()[]{}/\\&%#@*§¶·、。「」،؟।"))
def test_punctuation_separates_words_and_is_none(separator: str) -> None:
    assert words(f"one{separator}two") == words("one two")
    assert words(separator) == []


# Scripts


def test_arabic_vowel_signs_belong_to_their_word_and_count() -> None:
    assert len(words("اَلْعَرَبِيَّةُ")) == 1
    assert different("العربية", "اَلْعَرَبِيَّةُ")


def test_hindi_vowel_signs_and_conjuncts_do_not_cut_a_word() -> None:
    assert len(words("हिन्दी भाषा क्षत्रिय")) == 3
    assert len(words("தமிழ் மொழி")) == 2
    assert len(words("বাংলা ভাষা")) == 2


def test_hebrew_points_do_not_cut_a_word() -> None:
    assert len(words("שָׁלוֹם עוֹלָם")) == 2


def test_korean_is_cut_at_its_spaces() -> None:
    assert len(words("안녕하세요 세계")) == 2


def test_tibetan_is_cut_at_its_syllable_marks() -> None:
    assert len(words("བོད་སྐད་ཡིག")) == 3


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("中文", 2),
        ("𠀀𪛖", 2),
        ("ひらがな", 4),
        ("カタカナー", 5),
        ("ｶﾀｶﾅ", 4),
        ("ไทย", 3),
        ("ลาว", 3),
        ("၁၂", 2),
        ("〇々", 2),
    ],
)
def test_each_character_of_a_script_without_spaces_is_a_token(text: str, count: int) -> None:
    assert len(words(text)) == count
    assert words(text) == words(" ".join(text))


@pytest.mark.parametrize(
    ("text", "count"),
    [("ที่", 1), ("น้ำ", 2), ("ខ្មែរ", 3), ("မြန်မာ", 3), ("\u304b\u3099", 1), ("葛\U000e0100", 1)],
    ids=["Thai", "Thai am", "Khmer", "Myanmar", "Japanese", "variant selector"],
)
def test_their_vowel_signs_and_tones_belong_to_the_character_before(text: str, count: int) -> None:
    assert len(words(text)) == count


def test_scripts_change_within_a_text_without_a_space() -> None:
    assert words("中文abc中") == words("中 文 abc 中")
    assert words("3月14日") == words("3 月 14 日")


def test_right_to_left_text_is_read_in_its_logical_order() -> None:
    assert words("שלום world") == words("שלום") + words("world")


# Symbols and digits


def test_texts_that_differ_in_an_emoji_only_are_different() -> None:
    assert different("well done", "well done 👍", "well done 👎", "well done 👍👍")


def test_skin_tones_and_flags_are_told_apart() -> None:
    assert different("👍", "👍🏽", "👍🏿")
    assert different("🇫🇷", "🇩🇪", "🇫🇷🇩🇪")


def test_an_emoji_is_the_same_with_and_without_a_presentation_selector() -> None:
    assert same("❤", "❤\ufe0f")


def test_a_family_is_its_members() -> None:
    assert words("👩\u200d👩\u200d👧") == words("👩 👩 👧")


def test_currency_and_operators_are_tokens() -> None:
    assert different("$5", "5", "€5", "£5")
    assert different("C", "C+", "C++")
    assert words("a<b") == words("a < b")
    assert words("x=1") == words("x = 1")


def test_words_hold_digits_of_any_script_which_are_not_each_other() -> None:
    assert len(words("covid19 h2o mp3")) == 3
    assert different("3", "٣", "३", "௩", "③", "Ⅲ")


def test_private_and_replacement_characters_are_tokens() -> None:
    assert different("", "\ue000", "\ue001", "\ufffd")


# Positions and marks


def test_positions_are_bytes_of_the_composed_text() -> None:
    tokens = Words()(Texts.from_strings(["", "Zoe\u0308, 中文\u00ad +x", "abc"]))
    assert tokens.offsets.tolist() == [0, 0, 5, 6]
    assert tokens.positions.tolist() == [0, 6, 9, 15, 16, 0]


def test_marks_tell_capitals_and_digits_at_the_beginning() -> None:
    tokens = Words()(Texts.from_strings(["Word wOrd 1st Éa ǅ ٣ ไ๓ +"]))
    assert tokens.marks.tolist() == [1, 0, 2, 1, 1, 2, 0, 2, 0]


# Other kinds of tokens


def test_whitespace_tokens_keep_their_punctuation() -> None:
    assert len(words("Hello, world!", "whitespace")) == 2
    assert words("Hello, world!", "whitespace") != words("Hello world", "whitespace")
    assert words("HELLO,\u3000WORLD!", "whitespace") == words("hello, world!", "whitespace")
    assert len(words("中文 文本", "whitespace")) == 2


def test_character_tokens_are_all_characters_but_blanks() -> None:
    assert len(words("a b,c!", "characters")) == 5
    assert words("AB", "characters") == words("a b", "characters")
    assert len(words("e\u0301", "characters")) == 1


@pytest.mark.parametrize("kind", ["words", "whitespace", "characters"])
@pytest.mark.parametrize("text", ["", " ", "\n\u3000\u2028"])
def test_blank_texts_have_no_token(kind: str, text: str) -> None:
    assert words(text, kind) == []


def test_no_texts_have_no_tokens() -> None:
    tokens = Words()(Texts.from_strings([]))
    assert len(tokens) == 0
    assert tokens.hashes.dtype == np.uint64
