"""Sections: a module with a SECTION adds its pages and an entry of the navigation, once `all_sections` names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from fastapi import APIRouter

from neardup.studio.app_target import Target

if TYPE_CHECKING:
    from neardup.studio.app import Studio

__all__ = ["Section", "all_sections"]


@dataclass(frozen=True)
class Section:
    """Pages below one path.

    A handler is a function of the request: `request.app.state.studio` is the Studio, `request.state.session` who asks,
    and `request.state.form` what a POST brings. It returns `app_page.show(request, …)`, or `app_page.go(address)` after
    a change. A function without `async` runs in a thread, and may read files.
    """

    name: str  # the first part of its paths: /name
    label: str  # in the navigation
    place: int  # in the navigation, from 0
    routes: Callable[[Studio], APIRouter]
    serves: Callable[[Target], bool]
    styles: tuple[str, ...] = ()  # files of static/ that its pages load
    scripts: tuple[str, ...] = ()
    start: str = ""  # the address of its first page, if it is not /name
    close: Callable[[Studio], None] | None = None  # called when the studio ends

    @property
    def address(self) -> str:
        """The address of its first page."""
        return self.start or f"/{self.name}"


@cache
def all_sections() -> tuple[Section, ...]:
    """All sections, in the order of the navigation."""
    from neardup.studio import index_pages, label, learn, review, workbench  # they import Section from here

    found = [module.SECTION for module in (index_pages, label, learn, review, workbench)]
    return tuple(sorted(found, key=lambda one: (one.place, one.name)))
