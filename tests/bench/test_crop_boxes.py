"""Texts that join words with the bins of a crop's box."""

from bench.crop_boxes import bin_boxes, list_differing_words, pair_bins, write_bins


def test_bins_are_equally_frequent():
    """Four boxes of 10 to 40 pixels, and of equal height: the aspect has the order of the width, y is one value."""
    boxes = [[0, 5, width, 10] for width in (10, 20, 30, 40)]
    assert bin_boxes(boxes, 2) == [
        ["x0", "y0", "width0", "height0", "area0", "aspect0"],
        ["x0", "y0", "width0", "height0", "area0", "aspect0"],
        ["x1", "y0", "width1", "height0", "area1", "aspect1"],
        ["x1", "y0", "width1", "height0", "area1", "aspect1"],
    ]
    assert bin_boxes([], 2) == []


def test_equal_boxes_have_equal_bins():
    first, *others = bin_boxes([[0, 0, 640, 480]] * 3, 5)
    assert others == [first, first]


def test_words_that_differ_are_written_with_each_bin():
    captions = ["A red hat", "a red cup", "a blue hat red"]
    assert list_differing_words(captions) == [{"hat"}, {"cup"}, {"blue", "hat"}]
    assert write_bins(captions, ["x0", "y2"]) == [
        "hat_x0 hat_y2",
        "cup_x0 cup_y2",
        "blue_x0 blue_y2 hat_x0 hat_y2",
    ]
    assert pair_bins(["x0", "y2", "width1"]) == ["x0_y2", "x0_width1", "y2_width1"]
