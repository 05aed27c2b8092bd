"""A plain-Python twin of every kernel: integers, lists, sets and `unicodedata`, nothing fast or clever.

Each is written from what its kernel must do, for one document; the tests in kernels/ hold the two together.
"""

# ruff: noqa: F403 - the tests say naive.NAME, whatever the theme

from naive.bits import *
from naive.common import *
from naive.compact import *
from naive.exact import *
from naive.grams import *
from naive.graphs import *
from naive.hamming_search import *
from naive.samples import *
from naive.sets import *
from naive.shingles import *
from naive.tokens import *
