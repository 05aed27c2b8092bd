"""Reports that are written every day in the same frame: other figures make another document.

Each function takes a source of random numbers and gives a headline and the sentences below it, in paragraphs.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from quality_set.words import DAYS, MONTHS

Paragraphs = tuple[tuple[str, ...], ...]
Report = tuple[str, Paragraphs]

COMPANIES = (
    "Nordvind", "Meridian", "Halden Steel", "Brightwater", "Orla Foods", "Castor Bank", "Lumen Energy", "Tessel Rail",
    "Vell Fruit", "Port Anselm Docks", "Corrance Glass", "Amber Telecom", "Stowe Timber", "Kolb and Sons",
)  # fmt: skip
TOWNS = (
    "Wexmoor", "Osterby", "Hallwick", "Kestering", "Granby", "Torrin", "Dunmere", "Calder", "Corrance", "Stowe",
    "Aldersund", "Leyden Bay", "Elmsworth", "Lyme", "Ebrach", "Veldrick",
)  # fmt: skip
TEAMS = ("Rovers", "United", "Wanderers", "Athletic", "Harriers", "Town")
PLAYERS = (
    "Maddox", "Ferreira", "Olsen", "Brandt", "Kowal", "Adeyemi", "Lindqvist", "Petrov", "Moreau", "Tanaka", "Silva",
    "Horvath", "Quinn", "Novak",
)  # fmt: skip
JOBS = (
    ("bus driver", "a licence for passenger transport"), ("carpenter", "a completed apprenticeship"),
    ("nurse", "a recognised diploma in nursing"), ("bookkeeper", "three years in a similar position"),
    ("electrician", "a certificate for work on live lines"), ("gardener", "experience with fruit trees"),
    ("baker", "a completed apprenticeship"), ("warehouse clerk", "a licence for fork-lift trucks"),
    ("teacher of music", "a degree in music"), ("cook", "experience in large kitchens"),
    ("software tester", "a command of two programming languages"), ("physiotherapist", "a state diploma"),
)  # fmt: skip


MARKET = """
The index of leading shares {verb} by {points} points or {share:.2f} per cent on {date}, and closed at {close:,} points.
Traders said that {mood} were in the majority because of {cause}.

The strongest share of the day was {winner} with a gain of {gain:.1f} per cent.
At the other end of the list {loser} lost {loss:.1f} per cent, and {third} closed unchanged at {price} crowns.

On the bond market the yield of ten-year papers stood at {bond:.2f} per cent.
An ounce of gold cost {gold:,} crowns, a barrel of oil {oil} crowns.
About {volume} million shares changed hands.
"""
WEATHER = """
The forecast for {town} for {date}: the day will be {sky}.
Temperatures rise from {low} degrees in the early morning to {high} degrees in the afternoon.
There will be {wind}, with gusts of up to {gusts} kilometres an hour.

The chance of rain is {rain} per cent.
The sun rises at {rise}.{rise_minute} and sets at {set}.{set_minute}.
Pollen: {pollen}.

Outlook: on the following day {outlook}, and the night will be {night} with {lowest} degrees.
The next forecast is published at six o'clock in the evening.
"""
MATCH = """
{first} {outcome} {second} {goals}:{against} on {day} in front of {spectators:,} spectators.
{scorer} opened the scoring in minute {early} after a corner.

After the break both teams had their chances, but {keeper} kept his goal clean until minute {late}.
Then {other} shot from a distance of {distance} metres.
The referee showed {cards} yellow cards.

With {points} points {first} is now in {place} place.
The next match is on {next_day} at {hour}.30 against {rival}.
Tickets are sold at the usual places.
"""
JOB = """
{firm} is looking for a {title} (f/m/d) in {town} from {month}, full time or with at least {hours} hours a week.
We are a company with {staff} employees and flat hierarchies, and we give people room for ideas of their own.

You bring: {need}, reliability and pleasure in working with others.
We offer: {holiday} days of holiday, a salary from {salary:,} crowns a month, a ticket for the bus and free fruit.

Please send your application with the reference {number}/{letter} to our personnel department by {until}.
Questions are answered by {contact} on extension {extension}.
We do not return documents.
"""


def _fill(frame: str, facts: dict[str, Any]) -> Paragraphs:
    """The frame with these facts: sentences in paragraphs."""
    parts = frame.strip().split("\n\n")
    return tuple(tuple(line.format(**facts) for line in part.split("\n")) for part in parts)


def _date(random: Random) -> str:
    return f"{random.choice(DAYS[:5])}, {random.randint(1, 28)} {random.choice(MONTHS)}"


def market(random: Random) -> Report:
    """The day on the stock exchange."""
    up = random.random() < 0.5
    winner, loser, third = random.sample(COMPANIES, 3)
    causes = ("the decision of the central bank", "figures from the labour market", "the price of crude oil",
              "a weak start in the east", "the elections abroad")  # fmt: skip
    facts = {
        "verb": "rose" if up else "fell",
        "mood": "buyers" if up else "sellers",
        "points": random.randint(4, 96),
        "share": random.randint(2, 190) / 100,
        "date": _date(random),
        "close": random.randint(4100, 6900),
        "cause": random.choice(causes),
        "winner": winner,
        "loser": loser,
        "third": third,
        "gain": random.randint(12, 69) / 10,
        "loss": random.randint(12, 69) / 10,
        "price": random.randint(20, 340),
        "bond": random.randint(180, 390) / 100,
        "gold": random.randint(1800, 2600),
        "oil": random.randint(60, 99),
        "volume": random.randint(20, 80),
    }
    return f"Markets: index {'gains' if up else 'loses'} {facts['points']} points", _fill(MARKET, facts)


def weather(random: Random) -> Report:
    """The forecast for a town."""
    low = random.randint(-6, 12)
    skies = ("cloudy with sunny spells", "sunny and dry", "grey with drizzle from time to time",
             "changeable with showers", "foggy at first and bright later")  # fmt: skip
    winds = ("a light breeze from the west", "a fresh wind from the north", "a strong wind from the sea")
    outlooks = ("little will change", "it will become milder", "colder air arrives", "more clouds move in")
    facts = {
        "town": random.choice(TOWNS),
        "date": _date(random),
        "sky": random.choice(skies),
        "low": low,
        "high": low + random.randint(4, 12),
        "wind": random.choice(winds),
        "gusts": random.randint(20, 85),
        "rain": random.randint(0, 19) * 5,
        "rise": random.randint(5, 8),
        "rise_minute": random.randint(10, 59),
        "set": random.randint(16, 21),
        "set_minute": random.randint(10, 59),
        "pollen": random.choice(("none", "little birch", "much grass", "some hazel")),
        "outlook": random.choice(outlooks),
        "night": random.choice(("clear", "frosty", "mild", "wet")),
        "lowest": low - random.randint(0, 4),
    }
    return f"Weather for {facts['town']}", _fill(WEATHER, facts)


def match(random: Random) -> Report:
    """The result of a football match."""
    home, away, rival = random.sample(TOWNS, 3)
    first, second = (f"{town} {random.choice(TEAMS)}" for town in (home, away))
    goals, against = random.randint(1, 5), random.randint(0, 4)
    scorer, other, keeper = random.sample(PLAYERS, 3)
    facts = {
        "first": first,
        "second": second,
        "outcome": "beat" if goals > against else "drew with" if goals == against else "lost to",
        "goals": goals,
        "against": against,
        "day": random.choice(DAYS[4:]),
        "spectators": random.randint(4, 190) * 100,
        "scorer": scorer,
        "early": random.randint(3, 44),
        "keeper": keeper,
        "late": random.randint(51, 79),
        "other": other,
        "distance": random.randint(12, 30),
        "cards": random.randint(2, 7),
        "points": random.randint(8, 60),
        "place": random.choice(("second", "fourth", "seventh", "tenth", "twelfth")),
        "next_day": random.choice(DAYS[4:]),
        "hour": random.randint(14, 20),
        "rival": rival,
    }
    return f"{first} – {second} {goals}:{against}", _fill(MATCH, facts)


def job(random: Random) -> Report:
    """An advertisement for a job."""
    title, need = random.choice(JOBS)
    facts = {
        "firm": random.choice(COMPANIES),
        "title": title,
        "need": need,
        "town": random.choice(TOWNS),
        "month": random.choice(MONTHS),
        "hours": random.randint(18, 32),
        "staff": random.randint(3, 90) * 10,
        "holiday": random.randint(26, 33),
        "salary": random.randint(22, 48) * 100,
        "number": random.randint(1000, 9999),
        "letter": random.choice("ABCDEF"),
        "until": f"{random.randint(1, 28)} {random.choice(MONTHS)}",
        "contact": random.choice(PLAYERS),
        "extension": random.randint(100, 999),
    }
    return f"{title.capitalize()} (f/m/d) in {facts['town']}", _fill(JOB, facts)


FRAMES: dict[str, Callable[[Random], Report]] = {
    "market": market,
    "weather": weather,
    "sport": match,
    "job": job,
}
