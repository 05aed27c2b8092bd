"""Near-duplicate detection for text, as one sentence.

documents → text → features → weights → signatures → candidates → verified pairs → clusters → what to keep.

    import neardup
    result = neardup.dedup("corpus.parquet", threshold=0.8)
    result.kept, result.removed, result.pairs, result.clusters
    result.write("clean/")
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "AsyncClient": "neardup.client",
    "Client": "neardup.client",
    "Index": "neardup.index.index",
    "Match": "neardup.index.matches",
    "Plan": "neardup.plan",
    "Result": "neardup.api",
    "compare": "neardup.api",
    "dedup": "neardup.api",
    "errors": "neardup.errors",
    "evaluation": "neardup.evaluate.public",
    "gram_feature": "neardup.learn.model.gram_features",
    "make_plan": "neardup.plans",
    "list_methods": "neardup.registry",
    "pairs": "neardup.api",
    "train_model": "neardup.learn.training.public",
}
__all__ = [
    "AsyncClient",
    "Client",
    "Index",
    "Match",
    "Plan",
    "Result",
    "compare",
    "dedup",
    "errors",
    "evaluation",
    "gram_feature",
    "list_methods",
    "make_plan",
    "pairs",
    "train_model",
]


def __getattr__(name: str) -> Any:
    """Public names load what they need when they are first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'neardup' has no attribute {name!r}")
    module = import_module(_PUBLIC[name])
    if name == "errors":
        return module
    return getattr(module, "methods" if name == "list_methods" else name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
