"""Words that an editor may put in place of others without changing what is said."""

from __future__ import annotations

# Patterns, because some words have a twin only where a number follows.
REPLACEMENTS = {
    r"about(?= \d)": "around",
    r"some(?= \d)": "roughly",
    "according to": "as reported by",
    "almost": "nearly",
    "although": "even though",
    "announced": "made known",
    "at least": "no fewer than",
    "because of": "owing to",
    "because": "as",
    "began": "started",
    "begin": "start",
    "believe": "think",
    "built": "constructed",
    "company": "firm",
    "discovered": "found",
    "decided on": "resolved on",
    r"every(?= (?:day|night|year|morning|evening))": "each",
    "explained": "pointed out",
    "farmers": "growers",
    "finished": "completed",
    "hardly": "barely",
    "instead of": "rather than",
    "intends": "means",
    "large": "big",
    "more than": "over",
    "near": "close to",
    "nearly": "almost",
    "nobody": "no one",
    "often": "frequently",
    "people": "persons",
    "probably": "in all likelihood",
    "promised": "pledged",
    "pupils": "schoolchildren",
    "receive": "get",
    "received": "got",
    "remain": "stay",
    "remained": "stayed",
    "researchers": "scientists",
    "residents": "inhabitants",
    "said": "stated",
    "says": "states",
    "searching": "looking",
    "small": "little",
    "started": "began",
    "the police": "officers",
    "therefore": "for this reason",
    "told": "informed",
    "usual": "normal",
    "visitors": "guests",
    "worth": "valued at",
}

TRUNCATIONS = (
    "Read the whole story in tomorrow's edition.",
    "… (continued for subscribers)",
    "More follows.",
)
CREDITS = ("Source: Nordic Wire", "Nordic Wire contributed to this report.", "nw/hm", "Agencies")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "September", "October", "November")
