"""A made-up English: a vocabulary with Zipf frequencies and sentence templates, all of our own making.

The head of every word class is a short list of ordinary words, the tail is coined from syllables, so that
the text has the shape of English (word lengths, function words, capitals, figures, punctuation) and belongs
to nobody. `Language` holds everything as flat arrays: text is then drawn for thousands of documents at once.

A *unit* is a word in one of its written forms: `base * FORMS + capital * len(ENDINGS) + ending`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Integers = np.ndarray  # of any integer type

ENDINGS = (" ", ", ", ". ", "? ", "! ", "; ", ".\n\n")
PLAIN, COMMA, STOP, QUESTION, EXCLAMATION, SEMICOLON, PARAGRAPH = range(len(ENDINGS))
FORMS = 2 * len(ENDINGS)
QUANTILES = 1 << 17  # resolution of the inverse Zipf tables: rarer words than this share their turn

CLOSED = {
    "determiner": (
        "the a the this his her their some its our that any every no these those my your each another"
    ),
    "preposition": (
        "of in to for on with at by from about as into over after through between under against during "
        "without before among around near behind toward across beyond along despite above"
    ),
    "conjunction": (
        "and but or so yet while because although since when if unless until whereas before after"
    ),
    "pronoun": ("it he they she we I you this that who everyone nobody someone it's he's they're one"),
    "auxiliary": (
        "is was has had will would can could are were may might should must did does been have isn't wasn't "
        "didn't won't can't hadn't"
    ),
    "phrase": (
        "at the end of|as well as|in order to|one of the most|as a result of|on the other hand|"
        "in the middle of|a large number of|for the first time|more or less|from time to time|"
        "by the way of|according to the|in front of the|at the same time|it is clear that|"
        "there is no doubt that|of course"
    ),
}
COMMON = {
    "noun": (
        "time year people way day thing world life hand part child eye woman place work week case point "
        "company number group problem fact house water room mother area money story month book night study "
        "word business issue side kind head service friend father power hour game line end member law car "
        "city name team minute idea body back parent face level office door health person art war history "
        "party result change morning reason research girl guy moment air teacher force education harbour "
        "river bridge market letter garden window paper winter summer table road field music price report "
        "station forest village school"
    ),
    "verb": (
        "make go know take see come think look want give use find tell ask work seem feel try leave call "
        "keep let begin help show hear play run move live believe bring happen write sit stand lose pay "
        "meet include continue set learn change lead understand watch follow stop create speak read spend "
        "grow open walk win teach offer remember consider appear buy serve send build stay fall cut reach "
        "kill raise pass sell decide return"
    ),
    "adjective": (
        "good new first last long great little own other old right big high different small large next "
        "early young important few public bad same able late hard clear recent strong whole free true full "
        "special easy cold open red difficult short single quiet narrow bright heavy foreign common poor "
        "natural happy"
    ),
    "adverb": (
        "also just now then more only here even there still again never often almost always later perhaps "
        "quite rather soon once twice together away instead already slowly usually finally nearly probably"
    ),
}
# Class: words in all, exponent and shift of its Zipf-Mandelbrot law, and the suffixes of coined words.
OPEN = {
    "noun": (
        20_000,
        1.0,
        8.0,
        ("", "", "", "er", "ion", "ness", "ment", "ity", "s", "s", "ing", "age", "ist"),
    ),
    "verb": (8_000, 1.0, 6.0, ("", "s", "ed", "ed", "ing", "ing", "ise", "en")),
    "adjective": (9_000, 1.0, 5.0, ("", "al", "ive", "ous", "y", "ic", "able", "less", "ish", "ed")),
    "adverb": (2_000, 1.0, 3.0, ("ly", "ly", "wise", "ally")),
    "name": (9_000, 0.9, 20.0, (*(["", "son", "ton", "ley", "field", "o", "a", "ski"] * 5), "é")),
}
SYLLABLE = (  # onset, nucleus, coda; "-" is nothing
    "b br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sc sh sl sp st str t th tr v w wh y",
    "a a a e e e i i o o u ai ea ee ie oa oo ou io",
    "- - - - - - b ck d g l ll m n n nd ng nt p r r rd rn rt s ss st t t ct x z th",
)

CLASSES = (*CLOSED, *OPEN, "figure")
SENTENCE_CLAUSES = (0.45, 0.40, 0.15)  # one, two, three clauses
TEMPLATES = 4_000


@dataclass(frozen=True)
class Language:
    """Everything needed to draw text, as flat arrays.

    `forms[unit]` is the written word with what follows it; `tables[c, q]` the base word at quantile q of
    class c; template t is `slots[starts[t] : starts[t] + sizes[t]]`, a slot being `2 * class + comma`.
    """

    forms: np.ndarray
    tables: Integers
    slots: Integers
    starts: Integers
    sizes: Integers
    mean_sentence: float  # characters, the space after it included


def syllables(rng: np.random.Generator, count: int) -> list[str]:
    """`count` random syllables."""
    parts = [np.array(listed.replace("-", "").split(" ")) for listed in SYLLABLE]
    columns = [part[rng.integers(0, len(part), count)] for part in parts]
    return ["".join(letters) for letters in zip(*columns, strict=True)]


def coin(rng: np.random.Generator, count: int, suffixes: tuple[str, ...], taken: set[str]) -> list[str]:
    """`count` new words of one to three syllables, short ones first, as the frequent words of English are."""
    coined: list[str] = []
    while len(coined) < count:
        parts = [syllables(rng, count) for _ in range(3)]
        sizes, ends = rng.choice(3, count, p=(0.25, 0.5, 0.25)) + 1, rng.integers(0, len(suffixes), count)
        for size, end, *syllable in zip(sizes, ends, *parts, strict=True):
            word = "".join(syllable[:size]) + suffixes[end]
            if word not in taken and len(word) < 16 and len(coined) < count:
                taken.add(word)
                coined.append(word)
    lengths = np.array([len(word) for word in coined]) + 4 * rng.random(count)
    return [coined[k] for k in np.argsort(lengths, kind="stable")]


def vocabulary(rng: np.random.Generator) -> dict[str, list[str]]:
    """The words of every class, most frequent first."""
    words = {name: text.split("|" if "|" in text else None) for name, text in CLOSED.items()}
    taken = {word for listed in words.values() for word in listed} | set(" ".join(COMMON.values()).split())
    for name, (count, _, _, suffixes) in OPEN.items():
        common = COMMON.get(name, "").split()
        words[name] = common + coin(rng, count - len(common), suffixes, taken)
    words["name"] = [word.capitalize() for word in words["name"]]
    years, amounts = rng.permutation(np.arange(1900, 2030)), rng.integers(60, 100_000, 2_000)
    words["figure"] = (
        [str(n) for n in range(2, 60)]
        + [str(n) for n in years]
        + [f"{n:,}" for n in dict.fromkeys(amounts.tolist())]
    )
    return words


def quantile_table(rank_weights: np.ndarray, first: int) -> Integers:
    """Base word numbers at QUANTILES equal steps of the cumulated weights."""
    cumulated = np.cumsum(rank_weights) / rank_weights.sum()
    steps = (np.arange(QUANTILES) + 0.5) / QUANTILES
    return (first + np.searchsorted(cumulated, steps)).astype(np.int32)


def zipf_tables(words: dict[str, list[str]]) -> Integers:
    """One inverse-distribution table per class, stacked: drawing a word is one look-up."""
    tables, first = [], 0
    for name in CLASSES:
        _, exponent, shift, _ = OPEN.get(name, (0, 0.8, 1.0, ()))
        weights = 1.0 / (np.arange(len(words[name])) + shift) ** exponent
        tables.append(quantile_table(weights, first))
        first += len(words[name])
    return np.stack(tables)


def noun_phrase(rng: np.random.Generator) -> list[str]:
    """The slots of one noun phrase."""
    kind = rng.random()
    if kind < 0.12:
        return ["pronoun"]
    if kind < 0.24:
        return ["name"] if rng.random() < 0.6 else ["name", "name"]
    if kind < 0.29:
        return ["figure", "noun"]
    phrase = ["determiner"] if rng.random() < 0.75 else []
    phrase += ["adjective"] * int(rng.choice(3, p=(0.55, 0.35, 0.10)))
    return [*phrase, "noun"] if rng.random() < 0.85 else [*phrase, "noun", "noun"]


def clause(rng: np.random.Generator) -> list[str]:
    """The slots of one clause: subject, verb, perhaps an object, perhaps where and how."""
    slots = ["phrase"] if rng.random() < 0.06 else []
    slots += noun_phrase(rng)
    slots += ["auxiliary"] if rng.random() < 0.45 else []
    slots += ["adverb"] if rng.random() < 0.2 else []
    slots += ["verb"]
    slots += noun_phrase(rng) if rng.random() < 0.7 else []
    for _ in range(int(rng.choice(3, p=(0.35, 0.45, 0.20)))):
        slots += ["preposition", *noun_phrase(rng)]
    return [*slots, "adverb"] if rng.random() < 0.1 else slots


def template(rng: np.random.Generator) -> list[int]:
    """One sentence as slot codes, `2 * class + (a comma follows)`."""
    codes: list[int] = []
    for part in range(int(rng.choice(3, p=SENTENCE_CLAUSES)) + 1):
        if part:
            codes[-1] |= int(rng.random() < 0.6)
            codes.append(2 * CLASSES.index("conjunction"))
        codes += [2 * CLASSES.index(name) for name in clause(rng)]
    return codes


def make_language(seed: int) -> Language:
    """The language of a seed: vocabulary, frequencies and sentence templates."""
    rng = np.random.default_rng([seed, 0])
    words = vocabulary(rng)
    flat = [word for name in CLASSES for word in words[name]]
    forms = [(w if low else w[0].upper() + w[1:]) + end for w in flat for low in (1, 0) for end in ENDINGS]
    tables = zipf_tables(words)
    drawn = [template(rng) for _ in range(TEMPLATES)]
    sizes = np.array([len(codes) for codes in drawn])
    slots = np.concatenate([np.array(codes, dtype=np.int16) for codes in drawn])
    lengths = np.array([len(word) + 1 for word in flat])[tables].mean(axis=1)
    mean_sentence = float(lengths[slots >> 1].sum() / TEMPLATES + (slots & 1).mean() + 1)
    return Language(
        np.array(forms, dtype=object), tables, slots, np.cumsum(sizes) - sizes, sizes, mean_sentence
    )
