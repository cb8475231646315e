from compeval.base.storage.image_ids import ImageIds


def test_no_two_contents_have_one_id():
    ids = ImageIds()
    assert ids.find("aa" * 32, "1.png") == "1.png"
    assert ids.find("bb" * 32, "1.png") == "1.png~bbbbbbbb"
    assert ids.find("aa" * 32, "1.png") == "1.png"
    assert ids.find("aa" * 32, "copies/1.png") == "copies/1.png"
    assert ids.find("bbbbbbbb" + "cc" * 28, "1.png") == f"1.png~bbbbbbbb{'cc' * 28}"
    assert ids.find("dd" * 32, "2.png") == "2.png"
