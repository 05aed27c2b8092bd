"""Mails of campaigns: what each of them wants, and all that is randomised around it."""

from __future__ import annotations

from typing import NamedTuple


class Campaign(NamedTuple):
    """One payload. `{code}`, `{amount}`, `{days}` and `{link}` change from mail to mail."""

    name: str
    subjects: tuple[str, ...]
    payload: str


CAMPAIGNS = (
    Campaign(
        "parcel", ("Your parcel is waiting", "Parcel {code}: action needed", "We could not deliver"),
        "We tried to deliver your parcel {code} today, but nobody was at home. It is now kept at "
        "our depot for {days} days. Please confirm your address and pay the small fee of {amount} "
        "for a second attempt under {link}. If we do not hear from you, the parcel will be returned "
        "to the sender.",
    ),
    Campaign(
        "parcel-polite", ("A short question about your delivery", "Delivery {code} on hold"),
        "Our driver could not find a name on your door, and so shipment {code} is still with us. "
        "You would help us by checking your details on {link} within {days} days. There is a charge "
        "of {amount} for keeping the goods, which you can settle on the same page. Should the time "
        "run out, we have to send everything back.",
    ),
    Campaign(
        "mailbox", ("Mailbox almost full", "Storage warning {code}"),
        "Your mailbox has used more than 98 per cent of its storage. Incoming messages will be "
        "rejected in {days} days. To keep your messages, log in at {link} and choose Extend storage "
        "for nothing. The administrator has set the reference {code} for your request.",
    ),
    Campaign(
        "garden", ("Spring sale in our nursery", "{days} days of roses", "Roses, shrubs and perennials"),
        "Spring has arrived in our nursery: for {days} days all roses, shrubs and perennials are "
        "sold at a quarter less. Order for more than {amount} and we pay the postage. Our gardeners "
        "have put together a plan for a flower bed of six square metres that blooms from April to "
        "October; you find it with your discount {code} at {link}.",
    ),
    Campaign(
        "course", ("Learn a language in {days} weeks", "Twenty minutes a day", "Your free lesson"),
        "Twenty minutes a day are enough: with our lessons you can hold your first conversation in "
        "{days} weeks. No books, no grammar tables, only real dialogues with native speakers. The "
        "first lesson is free, and the whole course costs {amount} if you use the voucher {code}. "
        "Start whenever you like at {link}.",
    ),
    Campaign(
        "loan", ("Approved: {amount}", "Your credit line", "Money within {days} days"),
        "Good news: you have been selected for a credit of up to {amount}, and no questions will be "
        "asked about earlier debts. The money can be on your account within {days} days. All that "
        "we need is a copy of your identity card and the number {code}, which was reserved for you. "
        "Apply at {link} before the offer ends.",
    ),
    Campaign(
        "survey", ("Two minutes for better trains", "How was your journey?"),
        "You recently travelled with us on service {code}, and we should like to know how you liked "
        "it. The questionnaire takes about two minutes, and among all answers that arrive within "
        "{days} days we raffle ten vouchers worth {amount}. Your answers are kept apart from your "
        "name. Here is the way to the questions: {link}",
    ),
    Campaign(
        "inheritance", ("Confidential", "From the desk of the attorney", "Reply needed within {days} days"),
        "I am the attorney of a late client who bore the same family name as you and left {amount} "
        "without a will. The bank has asked me to present the next of kin within {days} days, or "
        "else the fund {code} goes to the state. I propose that you act as the heir and that we "
        "share the sum in equal parts. Kindly send me your telephone number through {link} and "
        "treat this matter as strictly private.",
    ),
    Campaign(
        "webinar", ("Invitation: the quiet office", "Seats for {days} more days"),
        "Open-plan offices cost each employee almost ninety minutes of concentration a day. In our "
        "free online seminar three architects show how screens, carpets and rules can win half of "
        "that time back. Participation is free for the first two hundred guests, later it costs "
        "{amount}. Registration is open for {days} days at {link}; please give the booking code "
        "{code}.",
    ),
    Campaign(
        "update", ("Changes to our terms", "What changes in {days} days"),
        "In {days} days new terms will apply to your account {code}. The main changes: transfers "
        "between customers become free, cash withdrawals abroad cost {amount} at the most, and "
        "statements are sent by post only on request. You do not have to do anything if you agree. "
        "The full text can be read at {link}.",
    ),
)  # fmt: skip

SALUTATIONS = (
    "Dear customer,", "Hello {name},", "Good morning {name},", "Dear Sir or Madam,", "Hi {name}!", "Dear {name},",
    "Greetings {name},", "To whom it may concern,",
)  # fmt: skip
NAMES = (
    "Alex",
    "Mrs Winter",
    "Jordan",
    "Mr Castellan",
    "Robin",
    "Dr Weiss",
    "Marie",
    "Sam",
    "Ms Okoro",
    "Friend",
)
OPENERS = (
    "I hope this message finds you well.",
    "Thank you for being with us for so long.",
    "This is an automatic message, please do not reply to it.",
    "You receive this mail because you have bought from one of our partners.",
    "We promise to be brief today.",
    "The week has just begun, and so has our offer.",
    "",
)
FILLERS = (
    "The clouds over the harbour had lifted by the time the second lamp was lit.",
    "He put the kettle on the stove and listened to the rain in the gutter.",
    "Nobody in the village remembered who had planted the tall trees by the well.",
    "She folded the map and decided to take the path along the stream.",
    "At the end of the corridor a door stood open, and the light was on.",
    "A grey cat slept on the warm stones until the bell rang.",
    "",
    "",
)
CLOSINGS = (
    "Kind regards, your service team", "With best wishes, {name}", "Yours sincerely, customer care", "See you soon!",
    "Sincerely, the management", "Thank you for your trust.",
)  # fmt: skip
FOOTER = (
    "This message was sent by Brightmail Services on behalf of its customer. You get it because "
    "your address is on a list that you or somebody else subscribed to. To leave the list, follow "
    "the link below or answer with the word stop. Brightmail Services, Box 1180, Port Anselm. "
    "Please think of the environment before you print this mail."
)
HOSTS = ("service-desk.example", "mail-centre.example", "post.example", "kundenportal.example", "go.example")
