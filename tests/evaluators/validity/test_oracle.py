"""Verdicts of the oracle on four scenes, derived by hand.

Each relation is listed once; ``scene`` adds its converse. "left of" does not imply "next to", which must be listed
separately.
"""

import pytest

from compeval.evaluators.validity.oracle import is_true

CONVERSES = {
    "on": "supporting",
    "above": "below",
    "left of": "right of",
    "in front of": "behind",
    "in": "containing",
    "wearing": "worn by",
    "next to": "next to",
}


def scene(objects: str, relations: str) -> dict:
    """Build a scene of 640 pixels width.

    ``objects`` has one "id: size color pattern noun @centre" per line, ``relations`` one "id relation id" per line.
    """
    parsed_objects, triples = [], []
    for line in objects.strip().splitlines():
        name, description = line.strip().split(": ")
        description, centre = description.split(" @")
        size, color, pattern, noun = description.split()
        box = [float(centre) - 20, 200.0, 40.0, 40.0]
        parsed_objects.append(
            {
                "id": name,
                "noun": noun,
                "color": color,
                "pattern": pattern,
                "size": size,
                "box": box,
                "depth": 0.5,
            }
        )
    for line in relations.strip().splitlines():
        subject, *relation, target = line.split()
        triples.append([subject, " ".join(relation), target])
        triples.append([target, CONVERSES[" ".join(relation)], subject])
    return {
        "image_id": 1,
        "width": 640,
        "height": 480,
        "things": parsed_objects,
        "relations": triples,
    }


# Left: a table with a cup and a lamp on it. Centre: a basket with an apple. Right: a cat that wears a hat.
KITCHEN = scene(
    """
    table: large blue plain table @150
    cup: small red striped cup @120
    lamp: medium yellow plain lamp @180
    basket: medium green plain basket @350
    apple: small red plain apple @360
    cat: medium black plain cat @500
    hat: small white spotted hat @500
    """,
    """
    cup on table
    cup above table
    lamp on table
    lamp above table
    cup left of lamp
    cup next to lamp
    table left of basket
    table next to basket
    cup left of basket
    lamp left of basket
    apple in basket
    table left of apple
    cup left of apple
    lamp left of apple
    basket left of cat
    basket next to cat
    table left of cat
    cup left of cat
    lamp left of cat
    apple left of cat
    cat wearing hat
    hat on cat
    hat above cat
    table left of hat
    basket left of hat
    """,
)

# A house hides a part of a tree. A large red ball is next to the house, a small blue striped ball is far from it, and a
# bird is above it.
STREET = scene(
    """
    house: large white plain house @300
    tree: large green plain tree @330
    ball1: large red plain ball @150
    ball2: small blue striped ball @600
    bird: small black checkered bird @300
    """,
    """
    house in front of tree
    ball1 left of house
    ball1 next to house
    ball1 left of tree
    house left of ball2
    tree left of ball2
    ball1 left of ball2
    bird above house
    ball1 left of bird
    bird left of ball2
    """,
)

# A green cup on a red table, a green cup under a blue table, and two red drums next to each other.
TWINS = scene(
    """
    table1: large red plain table @100
    table2: large blue plain table @400
    cup1: small green plain cup @100
    cup2: small green striped cup @400
    drum1: medium red plain drum @550
    drum2: medium red spotted drum @600
    """,
    """
    cup1 on table1
    cup1 above table1
    table2 above cup2
    table1 left of table2
    cup1 left of table2
    cup1 left of cup2
    drum1 left of drum2
    drum1 next to drum2
    table1 left of drum1
    table2 left of drum1
    """,
)

ALONE = scene("ball: medium red plain ball @100", "")

KITCHEN_CASES = """
# Attributes, synonyms, numbers
yes | a red cup
yes | A red, striped cup.
yes | the small red and striped cup
yes | red striped mug
yes | a little cup
yes | a tiny crimson apple
yes | a big blue table
yes | a huge plain table
no  | a blue cup
no  | a red lamp
no  | a large cup
no  | a red spotted cup
yes | a polka-dotted hat
yes | a polka dot hat
yes | a dotted white hat
no  | a chequered hat
yes | a cup and a lamp
yes | a cup is next to a lamp and to the left of it
no  | a cup is next to a lamp and to the right of it
yes | a cup, a lamp, and a cat
no  | a cup, a lamp, and a bird
no  | two cups
no  | cups
yes | there is one cup
yes | two red things
no  | three red things
yes | seven things
no  | eight things
yes | an animal wearing something
yes | a container with a piece of fruit in it
no  | a vehicle
yes | a hat with spots
yes | a red cup with white stripes
no  | a cup with spots
yes | a patterned cup
no  | a patterned lamp
yes | a cup that is red and striped
yes | the cup is small, red and striped
no  | the cup is red but plain
no  | a red cup and a yellow one
no  | a red lamp and a yellow one
# Relations and synonyms for them
yes | a cup on a table
yes | a cup on top of a table
yes | a cup atop the table
yes | cup resting on table
yes | the cup sits on the table
yes | a cup is sitting on top of a table
yes | a cup placed on a blue table
yes | a cup above a table
yes | a cup over a table
no  | a cup under a table
no  | a table on a cup
yes | a table under a cup
yes | a table beneath a cup
yes | a table supporting a cup
yes | a table holding up a lamp
yes | a table that supports a cup and a lamp
yes | a lamp supported by a table
yes | an apple in a basket
yes | an apple inside of a green basket
yes | an apple within the basket
no  | a basket in an apple
yes | a basket containing an apple
yes | a basket that holds an apple
yes | the basket contains a red apple
yes | an apple contained in a basket
yes | an apple held by a basket
no  | a basket of apples
yes | a basket filled with fruit
no  | an apple on a basket
yes | a cat wearing a hat
yes | a cat wears a white hat
yes | a hat worn by a cat
yes | a cat in a hat
yes | a cat with a hat
yes | a cat with a spotted hat on
yes | a hat on a cat
no  | a cat wearing an apple
no  | a hat wearing a cat
yes | a cup next to a lamp
yes | a lamp beside a cup
yes | a lamp near the cup
yes | a cup alongside a lamp
no  | a cup next to a cat
yes | a cup far from a cat
no  | a cup far from a lamp
yes | a cup to the left of a lamp
yes | a cup left of a lamp
yes | a lamp to the right of a cup
yes | a cat on the right of a basket
no  | a cat on the left side of a basket
yes | a cup on the left
no  | a cup on the right
yes | a cup on the left and a cat on the right
yes | a cat on the right side of the picture
yes | a cup on a table and next to a lamp
no  | a cup on and next to a table
no  | a cup above and to the left of a table
yes | a cup next to and to the left of a lamp
# Possession
yes | a table with a cup on it
yes | a table with a lamp and a cup on it
yes | a table with a lamp on top
no  | a table with a cat on it
yes | a basket with an apple in it
yes | a basket with an apple inside
yes | a table with a basket next to it
yes | a table with a basket to its right
no  | a table with a basket on it
yes | the table has a cup on it
yes | a table that has a lamp on it
yes | the table has a lamp
yes | a table with a lamp
no  | a lamp with a table
yes | a cat with a basket
no  | a cat with a table
# Clauses
yes | there is a cup on the table
yes | There are a cup and a lamp on the table.
yes | In this picture, there is a cup.
yes | A cup is on the table in this picture.
yes | The picture shows a cat with a hat.
yes | a photo of a cat
yes | drawing of a cat wearing a hat
yes | This is a picture of a cat.
yes | We can see a cup on a table.
yes | a lamp can be seen on the table
yes | on the table is a cup
yes | On the blue table, there is a red cup.
yes | on the table stands a lamp
no  | on the basket stands a lamp
yes | Next to the basket sits a cat.
yes | sitting on a table is a cup
yes | a cup and a lamp are on a table
no  | a cup and a cat are on a table
yes | a cup is on a table, and a cat is wearing a hat
yes | a cup is on a table while a cat wears a hat.
yes | a table that a lamp stands on
yes | a table on which there is a lamp
yes | a basket in which an apple lies
yes | a hat that a cat wears
yes | a cat which is wearing a hat that is white
no  | a cat which is wearing a hat that is red
# Ambiguous attachment: true if any reading is true
yes | a cup on a table next to a lamp
yes | a cup on a table next to a basket
no  | a cup on a table next to an apple
yes | an apple in a basket next to a cat wearing a hat
no  | an apple in a basket wearing a hat
yes | a lamp on a table, next to a cup
# Reference
yes | cup on table. table next to basket.
yes | a cup on a table. the table is blue
no  | a cup on a table. the table is red
no  | a cup on a table. the table is under a cat
yes | a cup is on a table. it is red
yes | a cup is on a table. it is blue
no  | a cup is on a table. it is white
yes | a cat next to a basket. it wears a hat. the hat is white
yes | a cup and a lamp on a table. they are next to each other
no  | a cup and an apple. they are next to each other
no  | a cup and another cup
no  | a cup. there is another cup
yes | a cup. next to it is a lamp. the lamp is yellow and the cup is red
yes | a cat wears a hat. the animal is black
no  | a cat wears a hat. the animal is white
yes | A small red cup and a yellow lamp stand on a large blue table. The table is next to a basket with an apple in it.
yes | a cup is on a table and left of a lamp. the table is next to a basket that contains an apple. there is also a cat
no  | a cup is on a table and left of a lamp. the table is next to a basket that contains a cup. there is also a cat
no  | the apple is red. it is in a basket, which is green. the basket is between a table and a cat
# Negation
yes | there is no bird
no  | there is no cup
no  | there are no apples in the basket
yes | there are no lamps in the basket
yes | there isn't any bird on the table
yes | There is not a blue cup.
yes | no cat is on the table
no  | no cup is on the table
yes | nothing is on the basket
no  | there is nothing on the table
yes | a cat but no bird
no  | a cat and no apple
yes | it is not the case that there is a bird
no  | It is not the case that a cup is on a table.
yes | it is not true that a cup is on a table and that there is a bird
no  | it is not true that a cup is on a table and that there is a cat
yes | The picture does not show a bird.
no  | The picture does not show a cat.
yes | not a bird on a table
yes | a cup that is not blue
no  | a cup that is not red
no  | a not-red cup
yes | a not red lamp
yes | a cup that isn't plain
no  | the cup is not on the table
yes | the cup is not in the basket
no  | a cup not on a table
yes | a cup not under a table
yes | a cat not wearing a cup
no  | a cat not wearing a hat
no  | a cat that does not wear a hat
yes | an apple that does not wear a hat
no  | a cat without a hat
yes | a table without a hat
no  | a table without a lamp on it
yes | a table without a cat on it
yes | a table with no apple on it
no  | a table with no cup on it
no  | a cup without stripes
yes | a lamp without stripes
yes | a cup on something that is not a lamp
no  | a cup on something that is not a table
yes | a cup that is not red and plain
no  | a cup that is not red and striped
yes | a cup that is not blue but red
yes | cup on table and no bird
no  | cup on table. there is no table
yes | cup on something. there is no bird
no  | cup on something. there is no table
yes | a cup that is not above but to the left of a lamp
no  | no cup on table and no bird
yes | there is no cup with a lamp on it
no  | there is no table with a lamp on it
"""

STREET_CASES = """
yes | two balls
yes | balls
no  | three balls
no  | two red balls
yes | a red ball and a blue ball
yes | a red ball and another ball
yes | a red ball and a blue one
no  | a red ball and another red ball
yes | a ball. there is also a second ball
yes | the large ball is next to the house. the small ball is to the right of the house
no  | the small ball is next to the house
no  | a red striped ball
no  | a red and striped ball
yes | a tree partly hidden by a house
yes | a tree behind a house
yes | a tree in back of a house
no  | a house behind a tree
yes | In front of the tree stands a house.
yes | a house partly covering a tree
yes | a house partly hides a tree
yes | a house with a tree behind it
yes | a tree hidden behind a house
yes | a bird above a house
no  | a bird on a house
yes | a bird over a white house and a tree behind it
yes | a house under a bird
yes | two balls, a house and a tree
no  | two balls next to a house
yes | a red ball next to a house. the house is in front of a tree. there is another ball, which is blue and striped
no  | a red ball next to a house. the house is in front of a tree. there is another ball, which is red
yes | a ball is red and next to a house
no  | a ball is blue and next to a house
yes | a ball that is not red
yes | a ball that is not striped
no  | a house that is not white
yes | a ball not next to a house
no  | there is no ball next to a house
yes | there is no red ball to the right of the house
no  | a red ball next to something that is not a house
yes | there is a red ball. there is no other red ball
no  | there is a red ball. there is no other ball
yes | a building in front of a plant
yes | a ball outside a house
no  | a ball on the left and a red ball on the right
yes | a red ball on the left and a blue ball on the right
no  | blue ball next to house
yes | ball next to house and tree behind house
yes | ball next to house. tree behind house. ball is red
no  | ball next to house. ball right of house
yes | ball next to house and ball right of house
"""

TWINS_CASES = """
yes | a cup on a table and another cup under another table
no  | a cup on a table and another cup on another table
yes | two tables
yes | two cups and two tables
no  | a cup on a blue table
yes | a cup under a blue table
no  | two cups on a table
no  | two cups on two tables
yes | a cup not on a table
yes | a cup that is not on a table
yes | a striped cup not on a table
no  | a plain cup not on a table
yes | a plain cup not on the blue table
yes | a plain cup not on a table. the table is blue
no  | a striped cup under a table. the cup is not under the table
yes | a table with no cup on it
no  | a red table with no cup on it
yes | a table without a cup on it
yes | two red drums next to each other
yes | drums next to each other
no  | two cups next to each other
yes | a red drum next to another red drum
yes | a drum next to a drum
no  | a drum next to the cup
yes | a plain drum next to a spotted one
no  | a cup next to a cup
no  | it is not the case that two drums are red
yes | it is not the case that two drums are plain
yes | two drums that are not striped
no  | two drums that are not spotted
no  | the drums are plain
yes | the drums are red
yes | a plain drum and a spotted drum. the drums are red
yes | a plain drum and a spotted drum. the first drum is left of the second drum
no  | a plain drum and a spotted drum. the first drum is right of the second drum
no  | a plain drum is to the left of a spotted drum. the spotted drum is to the left of the plain drum
"""

ALONE_CASES = """
yes | a ball
yes | red ball
yes | The ball is red.
yes | something red
no  | something blue
no  | a ball and something else
no  | a ball and a ball
no  | a ball and something
no  | ball next to ball
no  | a ball on a table
yes | there is no table
yes | a ball not on a table
yes | a ball on no table
# Words that the world cannot draw
no  | a stool
no  | a pink ball
no  | a furry ball
no  | a red soccer ball
no  | a ball riding a boat
no  | a ball across a table
no  | a ball in the background
no  | the ball is shiny
yes | there is no stool
yes | there is no furry ball
yes | a ball that is not pink
yes | a ball not riding a boat
yes | it is not the case that a ball is pink
"""


def _cases() -> list:
    cases = []
    tables = {
        "kitchen": KITCHEN_CASES,
        "street": STREET_CASES,
        "twins": TWINS_CASES,
        "alone": ALONE_CASES,
    }
    scenes = {"kitchen": KITCHEN, "street": STREET, "twins": TWINS, "alone": ALONE}
    for name, table in tables.items():
        for line in table.strip().splitlines():
            if line.startswith("#"):
                continue
            verdict, caption = line.split(" | ", 1)
            cases.append(
                pytest.param(
                    caption.strip(), scenes[name], verdict.strip() == "yes", id=f"{name}: {caption}"
                )
            )
    return cases


@pytest.mark.parametrize(("caption", "scene", "verdict"), _cases())
def test_verdict(caption: str, scene: dict, verdict: bool) -> None:
    assert is_true(caption, scene) is verdict
