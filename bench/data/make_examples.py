#!/usr/bin/env python3
# bench/data/make_examples.py - worked examples of every probe family, never a prompt of the probe sets.
# SPDX-License-Identifier: Apache-2.0
"""usage: make_examples.py [FILE]    writes FILE (default: training_examples_2.txt beside itself)

The file is checked in, and its digest with it: this script only says where it comes from. Documents are separated by
a line "%%".
"""
import itertools
import json
import random
import sys
from pathlib import Path

HERE = Path(__file__).parent
SEPARATOR = "%%\n"
ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen " \
       "seventeen eighteen nineteen twenty".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
LEGS = {2: "duck hen crow goose robin owl".split(), 4: "horse dog cat cow goat fox lion".split(),
        6: "bee ant fly beetle wasp moth".split(), 8: "spider tick scorpion".split()}
WHEELS = {"bicycle": 2, "tricycle": 3, "car": 4, "truck": 6, "cart": 2, "wheelbarrow": 1}
PARTS = {"days are in a week": 7, "months are in a year": 12, "hours are in a day": 24, "minutes are in an hour": 60,
         "seconds are in a minute": 60, "seasons are in a year": 4, "sides are in a square": 4,
         "sides are in a triangle": 3, "fingers are on a hand": 5, "letters are in the alphabet": 26}
OPPOSITES = {"hot": "cold", "small": "large", "open": "closed", "fast": "slow", "high": "low", "light": "dark",
             "wet": "dry", "full": "empty", "early": "late", "loud": "quiet", "hard": "soft", "young": "old",
             "near": "far", "rich": "poor", "strong": "weak", "clean": "dirty", "thick": "thin", "left": "right"}
WORDS = ("red dog tea sun cup hat pen map key cat "
         "tree lamp door road book ship rain snow fire milk "
         "stone river light house bread water chair table plate glass").split()
COLOURS = "red green blue yellow black white brown grey".split()
ANIMALS = "horse dog cat cow goat fox lion duck owl".split()
CITIES = "Rome Paris London Berlin Madrid Vienna Oslo Lisbon".split()
FRUITS = "apple pear plum cherry grape melon".split()
UNITS = {"kilometres": "km", "metres": "m", "grams": "g", "kilograms": "kg", "litres": "l", "seconds": "s"}
KEYWORDS = {"starts a function": "def", "leaves a loop": "break", "gives a value back": "return",
            "starts a class": "class", "brings in a module": "import", "starts a condition": "if",
            "starts a loop over items": "for", "skips to the next turn": "continue", "raises an error": "raise",
            "does nothing": "pass", "catches an error": "except", "tests a claim": "assert"}
COLD = {"snow": True, "ice": True, "fire": False, "steam": False, "winter": True, "summer": False}
ABLE = {("a fish", "swim"): True, ("a stone", "swim"): False, ("a bird", "fly"): True, ("a house", "fly"): False,
        ("a dog", "run"): True, ("a table", "run"): False, ("a duck", "swim"): True, ("a chair", "swim"): False,
        ("a horse", "run"): True, ("a lamp", "run"): False, ("a crow", "fly"): True, ("a road", "fly"): False}


def yes(value):
    return "yes" if value else "no"


def asked(question, answer):
    return f"Q: {question}\nA: {answer}\n"


def reasoning(add):
    for a, b in itertools.product(range(10), repeat=2):
        if a <= 5 and b <= 5:
            add(asked(f"What is {a} + {b}?", a + b))
            if a >= b:
                add(asked(f"What is {a} - {b}?", a - b))
        if a != b:
            add(asked(f"Is {a} greater than {b}?", yes(a > b)), 2)
            add(asked(f"Is {a} less than {b}?", yes(a < b)), 2)
    for n in range(12):
        add(asked(f"Is {n} an even number?", yes(n % 2 == 0)))
        add(asked(f"Is {n} an odd number?", yes(n % 2 == 1)))
    for count, animals in LEGS.items():
        for animal in animals:
            article = "an" if animal[0] in "aeiou" else "a"
            add(asked(f"How many legs does {article} {animal} have?", count), 3)
            add(asked(f"{article.capitalize()} {animal} has how many legs?", count), 3)
            add(f"{article.capitalize()} {animal} has {count} legs.\n")
    for thing, count in WHEELS.items():
        add(asked(f"How many wheels does a {thing} have?", count), 3)
        add(asked(f"A {thing} has how many wheels?", count), 3)
        add(f"A {thing} has {count} wheels.\n")
    for thing, count in PARTS.items():
        add(asked(f"How many {thing}?", count), 2)
        add(asked(f"Say how many {thing}.", count), 2)
        add(f"There are {count} {thing.replace(' are', '')}.\n")
    for what, names in (("day", DAYS), ("month", MONTHS)):
        for first, second in zip(names, names[1:] + names[:1]):
            add(asked(f"What {what} comes after {first}?", second), 3)
            add(asked(f"What {what} comes before {second}?", first), 3)
            add(asked(f"Which {what} follows {first}?", second), 2)
            add(f"After {first} comes {second}.\n", 2)
            add(f"Before {second} comes {first}.\n", 2)
    for n in range(21):
        add(asked(f"What number comes after {n}?", n + 1), 3)
        add(asked(f"Which number follows {n}?", n + 1), 3)
        add(f"After {n} comes {n + 1}.\n")
        add(asked(f"What number comes next: {n}, {n + 1}, {n + 2},", n + 3), 3)


def formats(add):
    for word in WORDS:
        add(asked(f"Repeat the word {word}.", word))
        add(asked(f"Write {word} in capital letters.", word.upper()))
        add(asked(f"Write {word.upper()} in small letters.", word))
        add(asked(f"What is {word} in capitals?", word.upper()))
        add(f"In capital letters {word} is {word.upper()}, in small letters {word.upper()} is {word}.\n")
        add(asked(f"Write the word {word} on three lines.", f"{word}\n{word}\n{word}"))
        add(asked(f"Write the word {word} and a full stop.", word + "."))
        add(asked(f"Write the word {word} and a question mark.", word + "?"))
    for key, values in (("colour", COLOURS), ("animal", ANIMALS), ("city", CITIES), ("fruit", FRUITS)):
        for value in values:
            add(asked(f"Give the {key} {value} as JSON.", f'{{"{key}": "{value}"}}'))
            add(asked(f"As JSON: {key} {value}", f'{{"{key}": "{value}"}}'))
    for thing, cold in COLD.items():
        add(asked(f"Answer yes or no: is {thing} cold?", yes(cold)))
        add(asked(f"Answer yes or no: is {thing} hot?", yes(not cold)))
        add(f"Is {thing} cold? {yes(cold).capitalize()}.\n")
    for (thing, act), able in ABLE.items():
        add(asked(f"Answer yes or no: can {thing} {act}?", yes(able)))
        add(f"{thing.capitalize()} can{'' if able else 'not'} {act}.\n")
    for n, word in enumerate(ONES):
        add(asked(f"Write {n} as a word.", word), 2)
        add(asked(f"Spell the number {n}.", word), 2)
        add(f"The word for {n} is {word}.\n")
        add(asked(f"Write {n} with two decimals.", f"{n}.00"))
        for unit, short in UNITS.items():
            add(asked(f"Write {n} {unit} with its short unit.", f"{n} {short}"))
    for first, second in OPPOSITES.items():
        for a, b in ((first, second), (second, first)):
            add(asked(f"What is the opposite of {a}? One word.", b), 2)
            add(asked(f"Name the opposite of {a}.", b), 2)
            add(f"The opposite of {a} is {b}.\n")
    for adjective in ["red", "cold", "green", "old", "small", "white", "dark", "long"]:
        for noun in ["apple", "water", "house", "tree", "road", "lamp", "horse", "cup"]:
            add(asked(f"Write {adjective} {noun} in snake_case.", f"{adjective}_{noun}"))
    dates = random.Random(7)
    for month in range(1, 13):
        for _ in range(5):
            day, year = dates.randint(1, 28), dates.randint(2019, 2026)
            add(asked(f"Write {day} {MONTHS[month - 1]} {year} as an ISO date.", f"{year}-{month:02}-{day:02}"))


def code(add):
    for what, keyword in KEYWORDS.items():
        add(asked(f"Which Python keyword {what}?", keyword))
        add(asked(f"Name the Python keyword that {what}.", keyword))
        add(f"The keyword {keyword} {what}.\n")
    for number, word in enumerate(WORDS):
        add(asked(f"What is len('{word}')?", len(word)))
        add(asked(f"How long is '{word}'?", len(word)))
        if number % 3:  # these answers are all alike: some of them teach as much
            continue
        add(asked(f"What is type('{word}').__name__?", "str"))
        add(asked(f"What is bool('{word}')?", "True"))
        add(asked(f"What is '{word}'.upper()?", f"'{word.upper()}'"))
        add(asked(f"Is {word} a valid identifier?", "yes"))
    for n in range(21):
        add(asked(f"What is type({n}).__name__?", "int"))
        add(asked(f"What is type({n}.5).__name__?", "float"))
        add(asked(f"What is bool({n})?", n != 0))
        add(asked(f"Write a for loop header over range({n}) with i.", f"for i in range({n}):"))
        add(asked(f"Write a for loop header over range({n}) with k.", f"for k in range({n}):"))
        add(asked(f"Is total_{n} a valid identifier?", "yes"))
        letter = "xyk"[n % 3]
        add(asked(f"Is {n}{letter} a valid identifier?", "no"))
        add(asked(f"Is {letter}{n} a valid identifier?", "yes"))
    add("The number 0 is false, so is an empty list, an empty text and None.\n")
    for empty in ("[]", "''", "{}", "None", "0.0"):
        add(asked(f"What is bool({empty})?", "False"))
        add(asked(f"Is {empty} true or false?", "False"))
    add(asked("Is 0 true or false?", "False"))
    for first in ("my", "the", "a", "file", "line"):
        for second in ("name", "count", "value"):
            add(asked(f"Is {first}_{second} a valid identifier?", "yes"))
            add(asked(f"Is {first}-{second} a valid identifier?", "no"))
    numbers = random.Random(11)
    for _ in range(40):
        a, b, c = (numbers.randint(0, 9) for _ in range(3))
        add(asked(f"Write a list of {a}, {b} and {c}.", f"[{a}, {b}, {c}]"))


def main():
    sets = [json.loads(path.read_text()) for path in sorted((HERE / "probes").glob("*.json"))]
    items = [item for one in sets if one.get("asks") != "engine" for item in one["items"]]
    prompts = {item["prompt"] for item in items}
    documents = []

    def add(document, times=1):
        if any(document.startswith(prompt) for prompt in prompts):
            return
        if document not in seen:
            seen.add(document)
            documents.extend([document] * times)

    seen = set()
    for family in (reasoning, formats, code):
        family(add)
    text = SEPARATOR.join(documents)
    assert not any(prompt in text for prompt in prompts)
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "training_examples_2.txt"
    path.write_text(text)
    print(f"{len(documents)} examples, {len(text)} bytes; {len(prompts)} prompts, none of them in it")


main()
