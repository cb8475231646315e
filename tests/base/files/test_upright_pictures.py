"""Pictures that Pillow decodes to other tones than their files state: `make_upright_rgb` against values from the specs.

The files are written byte by byte (TIFF 6.0, PNG 1.2), because Pillow writes none of these kinds.
"""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from compeval.base.files.untrusted import make_upright_rgb

GREY, RGB, GREY_ALPHA = 0, 2, 4


def png(depth: int, kind: int, line: bytes, transparent: bytes = b"") -> bytes:
    """Return a PNG file of two pixels in one line, with a transparent colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        checked = name + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", 2, 1, depth, kind, 0, 0, 0)
    color = chunk(b"tRNS", transparent) if transparent else b""
    pixels = chunk(b"IDAT", zlib.compress(b"\0" + line))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + color + pixels + chunk(b"IEND", b"")


def tiff(bits: int, sample_format: int, photometric: int, line: bytes) -> bytes:
    """Return a TIFF file of two grey pixels in one line. ``photometric``: 0 if white is zero, 1 if black is."""
    tags = [
        *((256, 2), (257, 1), (258, bits), (259, 1), (262, photometric), (273, 8), (277, 1)),
        *((278, 1), (279, len(line)), (339, sample_format)),
    ]
    entries = b"".join(struct.pack("<HHIHH", tag, 3, 1, value, 0) for tag, value in tags)
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + len(line)) + line + directory


def read(data: bytes) -> list[int]:
    """Return the red channel of the upright picture, which is grey."""
    pixels = np.asarray(Image.open(io.BytesIO(make_upright_rgb(data))).convert("RGB"))
    assert (pixels[..., 0] == pixels[..., 2]).all()
    return pixels[0, :, 0].tolist()


def shorts(*values: int) -> bytes:
    return struct.pack(f">{len(values)}H", *values)


@pytest.mark.parametrize(
    ("bits", "sample_format", "line", "shown"),
    [
        (8, 1, bytes([0, 255]), [0, 255]),
        (16, 1, struct.pack("<2H", 0, 0x4000), [0, 64]),
        (32, 3, struct.pack("<2f", 0, 1), [0, 255]),
        (32, 3, struct.pack("<2f", 0, 255), [0, 255]),
    ],
)
def test_white_is_zero_in_tiff_files_of_any_depth(
    bits: int, sample_format: int, line: bytes, shown: list[int]
):
    assert read(tiff(bits, sample_format, 1, line)) == shown
    assert read(tiff(bits, sample_format, 0, line)) == [255 - value for value in shown]


def test_twelve_bits_fill_the_range():
    assert read(tiff(12, 1, 1, bytes([0x00, 0x0F, 0xFF]))) == [0, 255]


@pytest.mark.parametrize(
    ("depth", "kind", "line", "transparent", "shown"),
    [
        (16, GREY, shorts(0x8000, 0x4000), shorts(0x8000), [255, 64]),
        # One unit above the transparent tone is opaque.
        (16, GREY, shorts(0x8001, 0x8000), shorts(0x8000), [128, 255]),
        (16, RGB, shorts(*[0x8010] * 3, *[0x4000] * 3), shorts(*[0x8010] * 3), [255, 64]),
        (8, GREY, bytes([128, 64]), shorts(128), [255, 64]),
        (4, GREY, bytes([0x81]), shorts(8), [255, 17]),
        (2, GREY, bytes([0b10_01_0000]), shorts(2), [255, 85]),
        (1, GREY, bytes([0b01_000000]), shorts(0), [255, 255]),
        (16, GREY_ALPHA, shorts(0x8000, 0, 0x4000, 0xFFFF), b"", [255, 64]),
    ],
)
def test_transparent_pixels_are_white_at_any_depth(
    depth: int, kind: int, line: bytes, transparent: bytes, shown: list[int]
):
    assert read(png(depth, kind, line, transparent)) == shown
