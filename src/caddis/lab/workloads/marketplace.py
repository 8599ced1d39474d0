"""The demo's data: a marketplace's offers, and what people wait for.

Offers come from some dozens of towns and carry a price, a category, tags, a title, the seller's
rating and the moment when they were posted. Subscriptions are written as people write them, each
in another way (equality, BETWEEN, IN, LIKE, array_contains, IS NOT NULL, OR, NOT, dates). Towns and
categories are as unevenly popular among offers as among subscriptions. Against 100,000
subscriptions most offers find from a few to some dozens of people.
"""

import datetime as dt
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from caddis.arrays import offsets_of

MARKETPLACE_SCHEMA = pa.schema(
    [
        pa.field("event_id", pa.int64(), nullable=False),
        pa.field("city", pa.string()),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("category", pa.string()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("title", pa.string()),
        pa.field("seller_rating", pa.float64()),
        pa.field("posted_at", pa.timestamp("us", tz="UTC")),
    ]
)

OPENING = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
DAYS = 7

CITIES = (
    *("Dublin", "Cork", "Galway", "Limerick", "Waterford", "Kilkenny", "Sligo", "Dundalk"),
    *("Drogheda", "Bray", "Navan", "Ennis", "Tralee", "Athlone", "Wexford", "Letterkenny"),
    *("Belfast", "Derry", "Westport", "Dingle", "Dún Laoghaire", "Clifden", "Cobh", "Tuam"),
    *("Lisbon", "Porto", "Lyon", "Nantes", "Ghent", "Utrecht", "Aarhus", "Turku", "Tartu"),
    *("Gdańsk", "Brno", "Graz", "Basel", "Trieste", "Zadar", "Bilbao"),
)

CATEGORIES: dict[str, tuple[str, ...]] = {
    "bicycle": ("road bike", "mountain bike", "cargo bike", "folding bike", "bike trailer"),
    "furniture": ("oak table", "bookcase", "armchair", "writing desk", "wardrobe"),
    "book": ("atlas", "cookbook", "field guide", "novel", "dictionary"),
    "phone": ("smartphone", "phone case", "charger", "headset"),
    "computer": ("laptop", "monitor", "keyboard", "printer", "router"),
    "camera": ("rangefinder", "tripod", "zoom lens", "instant camera"),
    "music": ("fiddle", "tin whistle", "concertina", "bodhrán", "record player", "guitar"),
    "garden": ("lawn mower", "greenhouse", "wheelbarrow", "apple tree", "spade"),
    "kitchen": ("kettle", "bread oven", "espresso machine", "mixer", "dinner set"),
    "clothing": ("wool jumper", "rain coat", "wedding dress", "walking boots"),
    "toys": ("train set", "doll house", "board game", "kite"),
    "baby": ("pram", "cot", "high chair", "baby carrier"),
    "boat": ("kayak", "currach", "dinghy", "outboard motor"),
    "car parts": ("roof rack", "winter tyres", "tow bar", "car radio"),
    "tools": ("drill", "band saw", "chisel set", "step ladder", "work bench"),
    "sport": ("hurley", "surfboard", "tennis racket", "wetsuit", "rowing machine"),
    "art": ("watercolour", "etching", "picture frame", "easel"),
    "pets": ("aquarium", "dog bed", "bird cage", "rabbit hutch"),
    "antiques": ("clock", "silver spoon", "sea chest", "mirror"),
    "tickets": ("concert ticket", "match ticket", "ferry ticket"),
}

TAGS = (
    *("bargain", "collect only", "delivery", "vintage", "new", "repaired", "boxed", "handmade"),
    *("urgent", "swap", "warranty", "rare", "damaged", "set", "organic", "local"),
)

CONDITIONS = ("New", "Used", "Good", "Old", "Restored", "Small", "Large", "Rare")

NAMES = (
    *("mairead", "conor", "aoife", "sean", "niamh", "padraig", "orla", "eoin", "ciara", "declan"),
    *("ines", "tiago", "claire", "jonas", "femke", "lars", "aino", "kasia", "petr", "luca"),
)

_WRITTEN = """
    city = '{city}' AND category = '{category}' AND price < {low} AND title LIKE '%{item}'

    category = '{category}' AND title LIKE '%{item}' AND price BETWEEN {low} AND {high}
    AND city IN ('{city}', '{city2}')

    title LIKE '{condition} {item}' AND city = '{city}'

    title = '{condition} {item}' AND price <= {low} AND city <> '{city}'
    AND seller_rating > 4.7

    city = '{city}' AND category = '{category}' AND array_contains(tags, '{tag}')
    AND price < {low}

    array_contains(tags, '{tag}') AND array_contains(tags, '{tag2}') AND city = '{city}'
    AND category = '{category}'

    city = '{city}' AND category = '{category}' AND seller_rating >= {rating}
    AND price < {low}

    city IN ('{city}', '{city2}', '{city3}') AND category = '{category}' AND price < {low}
    AND seller_rating IS NOT NULL AND title ILIKE '%{item}%'

    category = '{category}' AND city = '{city}' AND price BETWEEN {low} AND {high}
    AND NOT array_contains(tags, 'damaged') AND seller_rating > {rating}

    (city = '{city}' OR city = '{city2}') AND title LIKE '{condition} {item}'
    AND price < {high}

    city = '{city}' AND posted_at >= '{day}' AND category = '{category}' AND price < {low}
    AND seller_rating > {rating}

    city = '{city}' AND category = '{category}'
    AND posted_at BETWEEN TIMESTAMP '{day} 08:00:00' AND TIMESTAMP '{day} 20:00:00'

    posted_at >= DATE '{day}' AND posted_at < DATE '{next_day}' AND city = '{city}'
    AND category IN ('{category}', '{category2}') AND price <= {low}

    (category = '{category}' AND price < {low} OR category = '{category2}' AND price < {high})
    AND city = '{city}' AND array_contains(tags, '{tag}') AND seller_rating >= {rating}

    city = '{city}' AND title LIKE '{condition} %' AND category = '{category}'
    AND NOT (price > {high} OR seller_rating < {rating})

    city = '{city}' AND category = '{category}' AND NOT (price >= {low})
    AND title NOT LIKE 'Old%' AND array_contains(tags, '{tag}')

    city LIKE '{prefix}%' AND title LIKE '%{item}' AND price < {low}
    AND array_contains(tags, '{tag}')

    price < 5 AND city = '{city}' AND category = '{category}'

    seller_rating IS NULL AND city = '{city}' AND category = '{category}' AND price < {high}

    seller_rating > 4.9 AND title LIKE '%{item}' AND city NOT IN ('{city}', '{city2}')
    AND price BETWEEN {low} AND {high} AND array_contains(tags, '{tag}')
"""
TEMPLATES = tuple(" ".join(text.split()) for text in _WRITTEN.split("\n\n"))

_CATEGORY_NAMES = tuple(CATEGORIES)


def marketplace_events(n: int, seed: int) -> pa.Table:
    """`n` offers with the columns of MARKETPLACE_SCHEMA, in the order they were posted.

    >>> marketplace_events(3, seed=1).num_rows
    3
    """
    rng = np.random.default_rng([seed, 3])
    category = _popular(n, len(CATEGORIES), rng)
    cents = _prices(category, rng)
    rating = np.round(5 - rng.gamma(1.5, 0.4, n), 1).clip(0, 5)
    seconds = np.sort(rng.integers(0, DAYS * 86_400, n))
    opening = int(OPENING.timestamp())
    columns = [
        pa.array(np.arange(n, dtype=np.int64)),
        pa.array(CITIES).take(pa.array(_popular(n, len(CITIES), rng))),
        _euros(cents),
        pa.array(_CATEGORY_NAMES).take(pa.array(category)),
        _tags(n, rng),
        pa.array(_titles(category, rng)),
        pa.array(rating, mask=rng.random(n) < 0.1),
        pa.array((seconds + opening) * 1_000_000, MARKETPLACE_SCHEMA.field("posted_at").type),
    ]
    return pa.Table.from_arrays(columns, schema=MARKETPLACE_SCHEMA)


def marketplace_subscriptions(n: int, seed: int) -> pa.Table:
    """`n` people's clauses as a table (subscription_id, where); ids like 'mairead-00017'."""
    rng = np.random.default_rng([seed, 4])
    gaps = _gaps(n, rng)
    template = rng.integers(0, len(TEMPLATES), n)
    texts = [TEMPLATES[t].format(**words) for t, words in zip(template, gaps, strict=True)]
    names = rng.integers(0, len(NAMES), n)
    ids = [f"{NAMES[name]}-{i:05d}" for i, name in enumerate(names)]
    return pa.table({"subscription_id": pa.array(ids), "where": pa.array(texts)})


def _popular(n: int, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Random numbers below `count`; small ones are more frequent."""
    weights = np.arange(2, count + 2, dtype=np.float64) ** -0.8
    return rng.choice(count, n, p=weights / weights.sum())


def _prices(category: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Prices in cents; each category has its own usual price, with a long tail."""
    usual = np.array([180, 120, 9, 150, 350, 220, 140, 60, 40, 30])[category % 10]
    cents = usual * 100 * rng.lognormal(0, 0.8, len(category))
    return cents.astype(np.int64).clip(50, 99_999_99)


def _euros(cents: npt.NDArray[np.int64]) -> pa.Array:
    """Cents as decimal(10, 2): 128-bit little-endian numbers whose upper half is zero."""
    halves = np.zeros((len(cents), 2), dtype="<i8")
    halves[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(10, 2), len(cents), [None, pa.py_buffer(halves)])


def _tags(n: int, rng: np.random.Generator) -> pa.Array:
    """Up to four distinct tags for each offer."""
    count = rng.integers(0, 5, n)
    order = np.argsort(rng.random((n, len(TAGS))), axis=1)
    chosen = order[np.arange(len(TAGS)) < count[:, None]]
    offsets = pa.array(offsets_of(count, np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(TAGS).take(pa.array(chosen)))


def _titles(category: npt.NDArray[np.int64], rng: np.random.Generator) -> list[str]:
    """A condition and an item of the category, such as 'Restored bookcase'."""
    conditions = rng.integers(0, len(CONDITIONS), len(category))
    items = rng.random(len(category))
    titles = []
    for kind, condition, item in zip(category, conditions, items, strict=True):
        choices = CATEGORIES[_CATEGORY_NAMES[kind]]
        titles.append(f"{CONDITIONS[condition]} {choices[int(item * len(choices))]}")
    return titles


def _gaps(n: int, rng: np.random.Generator) -> Iterator[dict[str, str]]:
    """The words that fill a template's gaps, one dictionary for each subscription."""
    city = _popular(n, len(CITIES), rng)
    category = _popular(n, len(CATEGORIES), rng)
    titles = _titles(category, rng)
    cents = _prices(category, rng)
    tag = rng.integers(0, len(TAGS), n)
    day = rng.integers(0, DAYS, n)
    rating = rng.choice(["3", "3.5", "4", "4.5", "4.8"], n)
    for i in range(n):
        condition, item = titles[i].split(" ", 1)
        yield {
            **_places(int(city[i])),
            "category": _CATEGORY_NAMES[category[i]],
            "category2": _CATEGORY_NAMES[(category[i] + 7) % len(CATEGORIES)],
            "condition": condition,
            "item": item,
            "tag": TAGS[tag[i]],
            "tag2": TAGS[(tag[i] + 3) % len(TAGS)],
            "low": str(cents[i] // 200 + 1),
            "high": f"{cents[i] / 50:.2f}",
            "rating": str(rating[i]),
            "day": _date(int(day[i])),
            "next_day": _date(int(day[i]) + 1),
        }


def _places(city: int) -> dict[str, str]:
    """A town, two others and the first letters of its name."""
    names = [CITIES[(city + step) % len(CITIES)] for step in (0, 5, 11)]
    return {"city": names[0], "city2": names[1], "city3": names[2], "prefix": names[0][:3]}


def _date(day: int) -> str:
    return (OPENING + dt.timedelta(days=day)).date().isoformat()
