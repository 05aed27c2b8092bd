"""The sites that stories appear on: what surrounds the article, which strangers on one site have in common."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """One outlet. `{related}` stands for headlines of other stories."""

    name: str
    language: str
    navigation: str
    call: str  # above the article's end: newsletter, subscription
    related: str
    legal: str
    bylines: tuple[str, ...]


_RULES = (
    "Comments are closed automatically after seven days. Please stay on the topic, do not post "
    "links and do not insult other readers; the editors remove whatever breaks the rules of the "
    "house. "
)
_PUBLISHER = (
    "All rights reserved. No part of this page may be copied, stored or passed on without the "
    "written consent of Harrow Regional Media. Photographs belong to their authors. We use cookies "
    "in order to remember your settings, to count visits and to show you advertisements that fit "
    "your interests; you can withdraw your consent at any time under Privacy. Harrow Regional Media "
    "is registered in Wexmoor under number 20417."
)

SITES = (
    Site(
        "Wexmoor Courier", "en",
        "Home | News | Town | Region | Sport | Weather | Culture | Notices | Jobs | Property | "
        "E-paper | My account",
        "Would you like to know what happens around the corner? Every evening at six our editors "
        "choose the five stories of the day. Enter your address to receive the newsletter free of "
        "charge, and unsubscribe whenever you like.",
        "Most read today: {related}",
        _RULES + "© Wexmoor Courier. " + _PUBLISHER,
        ("By Helen Marsh", "By Tom Iverley", "From our own reporter"),
    ),
    Site(
        "Elmsworth Herald", "en",
        "Herald | Front page | Local | Country | World | Sport | Farming | Letters | Archive | "
        "Subscribe",
        "You are reading one of three free articles this month. Subscribers read without limits, "
        "support local journalism and save a third of the price in the first year.",
        "More from the Herald: {related}",
        "© Elmsworth Herald. " + _PUBLISHER + " Contact | Imprint | Terms of use | Privacy | Media kit",
        ("by J. Corrigan", "Staff", "by Amelia Stroud"),
    ),
    Site(
        "Nordic Wire", "en",
        "Nordic Wire – agency copy – customers only",
        "",
        "",
        "This report was provided by the news agency Nordic Wire. Use is subject to contract. "
        "Corrections are sent under the same slug.",
        ("(nw)",),
    ),
    Site(
        "The Lantern", "en",
        "Skip to content  Menu  Search  The Lantern  Ideas  Nature  Science  Society  Podcasts  "
        "Shop",
        "The Lantern has no owner and no advertisements: it lives on what 4,000 members give each "
        "month. If you have read this far, please consider joining them from three crowns a month.",
        "Read next: {related}  Share this story: Mail, Print, Copy link",
        "Text published under a licence that allows reprints if the author and the source are named "
        "and nothing is changed. Pictures are excluded. Write to us about errors: we correct them "
        "in the open.",
        ("Words: the Lantern desk", "Words: M. Okafor"),
    ),
    Site(
        "Bay Today", "en",
        "BAY TODAY  live  local  traffic  webcams  lottery  horoscope",
        "Push the bell to get breaking news from the Bay straight to your phone!",
        "You may also like: {related}",
        "Bay Today is a service of Leyden Bay Radio. Found a mistake? Tell us. Advertising on Bay "
        "Today | Frequencies | Team | Data protection",
        ("BAY TODAY newsroom",),
    ),
    Site(
        "Lauenfelser Bote", "de",
        "Startseite | Nachrichten | Stadt | Region | Sport | Wetter | Kultur | Anzeigen | Stellen | "
        "E-Paper | Konto",
        "Möchten Sie wissen, was um die Ecke geschieht? Jeden Abend um sechs wählt die Redaktion "
        "die fünf Geschichten des Tages aus. Tragen Sie Ihre Adresse ein und erhalten Sie den "
        "Rundbrief kostenlos; abbestellen können Sie ihn jederzeit.",
        "Heute am meisten gelesen: {related}",
        "Alle Rechte vorbehalten. Kein Teil dieser Seite darf ohne schriftliche Zustimmung kopiert, "
        "gespeichert oder weitergegeben werden. Wir verwenden Cookies, um Ihre Einstellungen zu "
        "behalten, Besuche zu zählen und passende Werbung zu zeigen; Ihre Zustimmung können Sie "
        "unter Datenschutz widerrufen.",
        ("Von unserer Redaktion", "Von Greta Halm"),
    ),
    Site(
        "Le Courrier de Valmont", "fr",
        "Accueil | Actualités | Ville | Région | Sports | Météo | Culture | Annonces | Emplois | "
        "Journal | Mon compte",
        "Voulez-vous savoir ce qui se passe au coin de la rue ? Chaque soir à six heures, la "
        "rédaction choisit les cinq histoires du jour. Laissez votre adresse pour recevoir la "
        "lettre gratuite et désabonnez-vous quand vous voulez.",
        "Les plus lus aujourd'hui : {related}",
        "Tous droits réservés. Aucune partie de cette page ne peut être copiée, conservée ou "
        "transmise sans accord écrit. Nous utilisons des cookies pour garder vos réglages, compter "
        "les visites et montrer une publicité adaptée ; vous pouvez retirer votre accord à tout "
        "moment sous Vie privée.",
        ("Par la rédaction", "Par Odile Ferrand"),
    ),
    Site(
        "El Correo del Puerto", "es",
        "Inicio | Noticias | Ciudad | Región | Deportes | Tiempo | Cultura | Anuncios | Empleo | "
        "Diario | Mi cuenta",
        "¿Quiere saber qué pasa a la vuelta de la esquina? Cada tarde a las seis la redacción elige "
        "las cinco historias del día. Deje su dirección para recibir el boletín gratis y dese de "
        "baja cuando quiera.",
        "Lo más leído hoy: {related}",
        "Todos los derechos reservados. Ninguna parte de esta página puede copiarse, guardarse o "
        "transmitirse sin permiso escrito. Usamos cookies para recordar sus ajustes, contar visitas "
        "y mostrar publicidad adecuada; puede retirar su permiso en cualquier momento en "
        "Privacidad.",
        ("Por la redacción", "Por Elena Prado"),
    ),
)  # fmt: skip
