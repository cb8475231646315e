"""Captions as the web has them: real ones with exchanged nouns, and the dirt of web text.

A caption is a real one in which some nouns are replaced by nouns of other captions or of WordNet, so millions of
captions differ. Without real files, the captions describe scenes of the stand-in.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterator
from functools import cache
from random import Random

from bench.standin.phrases import write_caption
from bench.standin.real_texts import read_web_captions
from bench.standin.scene import draw_scene, make_rng
from bench.standin.vocabulary import load_words

CAPTIONS_PER_BLOCK = 1_000
"""Captions that share a random generator, so a file can be continued from any block."""
REPLACED, FROM_WORDNET = 0.35, 0.2
"""Share of the nouns that are replaced, and share of their replacements that come from WordNet."""
LONGEST = 100_000
"""Characters of the longest lines."""
_WORD = re.compile(r"[A-Za-z]+")
_SYMBOLS = "🔥❤️😍🎄✨👍🏽🇺🇸📷→★•®™½№"
_CONTROLS = "\x00\x07\x08\x1b\x7f\x85\u200b\u200e\u2028\ufeff\ufffd\t\n\r"
_FOREIGN = tuple(
    text.split()
    for text in (
        "白色 连衣裙 女士 夏季 新款 北京 照片 高清 手机壳",
        "красивая женщина в красном платье на фоне моря фото",
        "صورة رجل يرتدي قميص أبيض في الشارع",
        "ein alter Mann mit Hund vor dem Haus für Kinder und Möbel",
        "une femme à la plage près d'un château avec des fleurs",
        "かわいい 猫 の 写真 壁紙 東京 旅行",
        "สวย มาก รูปภาพ บ้าน สีขาว",
        "hombre con sombrero en la calle montaña niño",
        "बच्चा घर के सामने लाल कार",
        "검은 고양이 의자 사진",
    )
)
_POPULAR = (
    "",
    " ",
    "-",
    "image",
    "Image",
    "logo",
    "Logo",
    "Home",
    "Product Image",
    "photo",
    "1",
    "null",
    "N/A",
    "untitled",
)


def generate_captions(corpus: str, seed: int, dirt: float) -> Iterator[str]:
    """Yield captions without end; a share of ``dirt`` of them is dirty. Some captions are empty or equal."""
    templates, nouns = _load_templates()
    tail = load_words().tail_nouns
    for block in itertools.count():
        rng = make_rng(seed, corpus, block)
        for _ in range(CAPTIONS_PER_BLOCK):
            pieces = list(rng.choice(templates))
            for at in range(1, len(pieces), 2):
                if rng.random() < REPLACED:
                    pieces[at] = tail.draw(rng) if rng.random() < FROM_WORDNET else rng.choice(nouns)
            caption = "".join(pieces)
            yield _draw_dirt(rng)(caption, rng) if rng.random() < dirt else caption


@cache
def _load_templates() -> tuple[list[list[str]], list[str]]:
    """Return the captions, each as a list with a noun at every odd position, and all their nouns."""
    words = load_words()
    captions = read_web_captions() or tuple(
        write_caption(draw_scene(0, 4_000_000 + index, 500, words), (), make_rng("web", index))
        for index in range(2_000)
    )
    known = {noun for noun in words.tail_nouns.items if " " not in noun}
    templates: list[list[str]] = []
    for caption in captions:
        pieces, end = [], 0
        for match in _WORD.finditer(caption):
            if match[0] in known:
                pieces += [caption[end : match.start()], match[0]]
                end = match.end()
        templates.append([*pieces, caption[end:]])
    return templates, [noun for pieces in templates for noun in pieces[1::2]]


Dirt = Callable[[str, Random], str]


def _draw_dirt(rng: Random) -> Dirt:
    return rng.choices(list(_DIRT), list(_DIRT.values()))[0]


def _escape(caption: str, rng: Random) -> str:
    text = html.escape(caption.replace(" and ", " & ").replace("'", "\u2019" if rng.random() < 0.5 else "'"))
    return rng.choice(
        [text, f"<b>{text}</b>", text.replace(" ", "&nbsp;", 2), f"&quot;{text}&quot; &#8211; {text[:20]}"]
    )


def _add_symbols(caption: str, rng: Random) -> str:
    return caption + " " + "".join(rng.choices(_SYMBOLS, k=rng.randrange(1, 8)))


def _add_controls(caption: str, rng: Random) -> str:
    at = rng.randrange(len(caption) + 1)
    return caption[:at] + "".join(rng.choices(_CONTROLS, k=rng.randrange(1, 4))) + caption[at:]


def _shout(caption: str, rng: Random) -> str:
    return caption.upper()


def _add_sku(caption: str, rng: Random) -> str:
    code = "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", k=rng.randrange(5, 12)))
    sizes = f"{rng.randrange(1, 90)}x{rng.randrange(1, 90)}{rng.choice(['cm', 'mm', 'in', '”', ' px'])}"
    return rng.choice(
        [f"{code} {caption} {sizes}", f"*NEW* {caption} - {rng.randrange(100)}% OFF | {code}", f"{code}_{sizes}.jpg"]
    )


def _add_url(caption: str, rng: Random) -> str:
    return rng.choice(
        [f"{caption} https://www.example.com/p/{rng.randrange(10**6)}?a=1&b=%20", f"www.{caption.split(' ')[0]}.com"]
    )


def _write_foreign(caption: str, rng: Random) -> str:
    words = " ".join(rng.choices(rng.choice(_FOREIGN), k=rng.randrange(2, 12)))
    return words if rng.random() < 0.8 else f"{caption} / {words}"


def _repeat_popular(caption: str, rng: Random) -> str:
    return rng.choice(_POPULAR)


def _lengthen(caption: str, rng: Random) -> str:
    length = int(rng.choice([1_000, 5_000, 20_000, LONGEST]))
    text = caption if rng.random() < 0.8 else caption.replace(" ", "")
    return (f"{text} " * (length // (len(text) + 1) + 1))[:length]


def _write_anything(caption: str, rng: Random) -> str:
    codes = (rng.randrange(0x20, 0x1FFFF) for _ in range(rng.randrange(1, 60)))
    return "".join(chr(code) for code in codes if not 0xD800 <= code <= 0xDFFF)


_DIRT: dict[Dirt, float] = {
    _escape: 20,
    _add_symbols: 12,
    _add_controls: 4,
    _shout: 12,
    _add_sku: 18,
    _add_url: 8,
    _write_foreign: 20,
    _repeat_popular: 12,
    _lengthen: 0.05,
    _write_anything: 1,
}
"""Weights of the kinds of dirt."""
