"""What must hold for an index after a crash."""

from __future__ import annotations

import shutil
from pathlib import Path

from crashes.script import Facts, Script, Session, Step
from neardup.errors import NeardupError

NEW = {
    "after the crash": "the harbour is there after the crash and a ship is in it, as it will be when it is over"
}


class Violation(AssertionError):
    """A promise that was not kept."""


def allowed(script: Script, done: int, begun: int) -> list[Facts]:
    """What an index may say: everything acknowledged, and all or nothing of the step that was under way."""
    return [
        script.facts[done],
        *([script.facts[done + 1]] if begun > done and done + 1 < len(script.facts) else []),
    ]


def check_index(
    folder: Path,
    script: Script,
    done: int,
    begun: int,
    *,
    again: bool = False,
    derived: list[str] | None = None,
) -> Facts:
    """What the index says, which is one of what it may say; afterwards it was changed and is removed."""
    session = Session(folder, script.method)
    try:
        if done:  # it exists, so that it opens without being told how it was made
            session.options = {}
        found = session.facts(script.asked)
        _agree(found, allowed(script, done, begun))
        verification = session.index.verify()
        if verification.truth:
            raise Violation(f"verify finds damage: {verification.truth}")
        if derived is not None:
            derived += verification.derived
        check_use(session, script, found, again)
    except NeardupError as error:
        raise Violation(f"the index cannot be used: {error}") from error
    finally:
        session.close()
    shutil.rmtree(folder)
    return found


def check_use(session: Session, script: Script, found: Facts, again: bool = False) -> None:
    """The index takes and finds a new document, also when it is opened again, and loses it when told to."""
    asked = {**script.asked, **NEW}
    session.perform(Step("add", NEW))
    if again:
        session.perform(Step("compact"))
        session.perform(Step("open"))
    more = session.facts(asked)
    if set(more.documents) != {*found.documents, *NEW} or not more.answers > found.answers:
        raise Violation("a document that is added afterwards is not found")
    session.perform(Step("delete", ids=tuple(NEW)))
    if session.facts(asked).documents != found.documents:
        raise Violation("a document that is deleted afterwards is still there")


def _agree(found: Facts, expected: list[Facts]) -> None:
    for one in expected:
        if found == one:
            return
    for one in expected:
        if found.documents == one.documents:
            raise Violation(f"wrong answers: {sorted(found.answers ^ one.answers)[:4]}")
    differences = [sorted({*found.documents.items()} ^ {*one.documents.items()})[:6] for one in expected]
    raise Violation(f"other documents than were acknowledged: {differences}")
