"""SugarCrepe and SugarCrepe++ in German, Spanish and Persian, translated by a language model.

    {sc,scpp}/{de,es,fa}/*.json with *_issues.json -> configs sc_de to scpp_fa, splits add_att and so on
    chance: sc 1/2, scpp 1/3

Source: https://github.com/Theparia/Multilingual-VLM-Compositionality. In some rows, two captions have the same
translation. The authors leave out a row in all languages if it is in the list of one of them: category ``collision``.
The images are those of COCO's val2017. Rows and splits correspond to those of the English files.
"""

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    COCO,
    PARAPHRASE_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    RemoteFile,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import read_each

LANGUAGES = ("de", "es", "fa")
SPLITS = ("add_att", "add_obj", "replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj")


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows of one file. Raises ValueError if a list of collisions is missing."""
    kind, language, split = PurePosixPath(name).with_suffix("").parts
    lists = [path.absolute().parents[1] / other / f"{split}_issues.json" for other in LANGUAGES]
    if missing := [file for file in lists if not file.is_file()]:
        raise ValueError(f"{path}: a list of collisions is missing. Expected it in {missing[0]}.")
    collisions = {
        item["sample_id"] for file in lists for item in json.loads(file.read_text(encoding="utf-8"))
    }

    def make_row(entry: tuple[str, dict[str, Any]]) -> Row:
        number, item = entry
        captions = (item["caption"], item["caption2"]) if kind == "scpp" else (item["caption"],)
        has_collision = "some language" if number in collisions else "none"
        return Row(
            f"{kind}_{language}",
            (item["filename"],),
            captions,
            (item["negative_caption"],),
            split=split,
            categories=(("collision", has_collision),),
        )

    items = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(items, dict):
        raise ValueError(f"{path}: expected an object of items.")
    return read_each(items.items(), make_row)


FILES = [
    f"{kind}/{language}/{split}"
    for kind, splits in (("sc", SPLITS), ("scpp", SPLITS[2:]))
    for language in LANGUAGES
    for split in splits
]
PINNED_FILES = (
    RemoteFile(name="sc/de/add_att.json", size=292950, sha256="de93e2a15f9dc98f64e2290d553950f2e67089e3a3c60f862e0edc20eef95b28"),
    RemoteFile(name="sc/de/add_att_issues.json", size=524, sha256="3a8106cc92187e7b3ee55cec726d086b0c622a96bbc30caf2f2b81da17584179"),
    RemoteFile(name="sc/de/add_obj.json", size=887437, sha256="2b1edd5fca2a8ea37c12cddaf6665d7bb80ea01f80d453e28558d20300d60f4f"),
    RemoteFile(name="sc/de/add_obj_issues.json", size=2, sha256="4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    RemoteFile(name="sc/de/replace_att.json", size=323655, sha256="7daf1c11966d03c604b73f8ef28bdbe97d5f9ebe5b32e8d016db2bb41a70f9e1"),
    RemoteFile(name="sc/de/replace_att_issues.json", size=562, sha256="f012057f6de4bdaaaa13c852b08bbf6b09127a1a4ce980710a28c24315d9069e"),
    RemoteFile(name="sc/de/replace_obj.json", size=652255, sha256="6ce8319806adb97203abf0e2f59dfb7605df4408760d38f148fff75e1d0d63f2"),
    RemoteFile(name="sc/de/replace_obj_issues.json", size=1695, sha256="faa6ed7f499d11ed5cee8d3fa5f86f7312197a48311cc47f2a032631b8726615"),
    RemoteFile(name="sc/de/replace_rel.json", size=566660, sha256="b43b7d373b56cd15f9b96a75a95ebd90ab6cfb60b16a877f3a3482803e555183"),
    RemoteFile(name="sc/de/replace_rel_issues.json", size=6952, sha256="89bf31b1b8727f0376b02531fa3cad007467d14bc31ed8c6da2654db906640f8"),
    RemoteFile(name="sc/de/swap_att.json", size=285881, sha256="ccceeef030a03658765fbd7f6046db59d3f33072643552ba2c47286e6aa2ad8d"),
    RemoteFile(name="sc/de/swap_att_issues.json", size=678, sha256="3533dec531d3193b3e4efb36774610b3e878c0872b7338359e256a1aa5bf7f8b"),
    RemoteFile(name="sc/de/swap_obj.json", size=106298, sha256="ab0a0ac1ee5c7c4dc1d45bffd24bb7aac4606a5f6283adfa8702a53c434f4e82"),
    RemoteFile(name="sc/de/swap_obj_issues.json", size=2, sha256="4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    RemoteFile(name="sc/es/add_att.json", size=288772, sha256="fe2189be580715dd928ea2fa6a4b7600838c67b8e57e96dbae5197f0af7374ee"),
    RemoteFile(name="sc/es/add_att_issues.json", size=252, sha256="49cfe19725ed03b50f57da8fa88e4b64b166502c28fcad0f71bb82d448b2dff3"),
    RemoteFile(name="sc/es/add_obj.json", size=875720, sha256="73a6cc3e02d51aae77a7bfc1c6007d63409cb0dd8a2069b56c8f0cf2b2cb99da"),
    RemoteFile(name="sc/es/add_obj_issues.json", size=2, sha256="4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    RemoteFile(name="sc/es/replace_att.json", size=318746, sha256="ec7b2734c8dcf4675e646f56fc5f092112c6eacbf7a6779d2a1f67257c463f6d"),
    RemoteFile(name="sc/es/replace_att_issues.json", size=756, sha256="2e174314f82564e1f43d12e096292f90171fdcd854c038f220a2e0a87ace7278"),
    RemoteFile(name="sc/es/replace_obj.json", size=644943, sha256="78f0110c0b9ee72bb30beefe35c7c73d80e94d226e8dee5311c4624e5c70b0c6"),
    RemoteFile(name="sc/es/replace_obj_issues.json", size=1597, sha256="84d79deec0c312b66a842723e429bf6438dba250d901327d5b185d15a07ee5b7"),
    RemoteFile(name="sc/es/replace_rel.json", size=561275, sha256="2fac2470c599b06dde43e97ba0153b3351a51c29b8aedb6c37eda929f56b3517"),
    RemoteFile(name="sc/es/replace_rel_issues.json", size=4784, sha256="0ebd52b51262cb3b6e5a8af4cc6a8ba2b34a2ec4372ae8b0aa03c57459fbeefa"),
    RemoteFile(name="sc/es/swap_att.json", size=283292, sha256="85a31530ed36be5867c74dd77cb938648447de85abfc77bd3a092a88170998c4"),
    RemoteFile(name="sc/es/swap_att_issues.json", size=2, sha256="4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    RemoteFile(name="sc/es/swap_obj.json", size=105542, sha256="9fdc2b71ca43ed3e4e873b195e4465ae08c96c6cb26b61f57c0c082405387e28"),
    RemoteFile(name="sc/es/swap_obj_issues.json", size=2, sha256="4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    RemoteFile(name="sc/fa/add_att.json", size=347671, sha256="7208bef09a60c5e40b1a328317b1d4c6123eff47c4e4945e87a3469e0e7a63b0"),
    RemoteFile(name="sc/fa/add_att_issues.json", size=314, sha256="66c451f448acf32e1223c87300280042c4cd1f0961674cf3ac3ae80476d29d94"),
    RemoteFile(name="sc/fa/add_obj.json", size=1050971, sha256="e772041b77bc56ef6bc50cc2b590ecbd655d03d5c30109c3c51d6dada69a9749"),
    RemoteFile(name="sc/fa/add_obj_issues.json", size=320, sha256="066346ff41e65fc94f7ebe01a4630cbec7252f40aff6ca5988cc830e8d16a678"),
    RemoteFile(name="sc/fa/replace_att.json", size=381242, sha256="178eaf9fa4f6c248eab92000e9ee1ac8aeaffe6ead4140d6678d54254cbc9cc8"),
    RemoteFile(name="sc/fa/replace_att_issues.json", size=291, sha256="78366063d091a04623d1047e6bbe483f34efad990cd3e7b899cc776a558a2d4f"),
    RemoteFile(name="sc/fa/replace_obj.json", size=770974, sha256="9b8730a71da4534bf6a43d7d139a13d2b428a5be549b4e06fb289ab30fc65d21"),
    RemoteFile(name="sc/fa/replace_obj_issues.json", size=3870, sha256="f3be61d982ea317e472f59fd9ae3312c3610807b0585644031b6f802ea30bd83"),
    RemoteFile(name="sc/fa/replace_rel.json", size=674404, sha256="0d5393c3806519e54a800a9380365511aa07f1d7cc2aeee375f9af4d8b19908d"),
    RemoteFile(name="sc/fa/replace_rel_issues.json", size=7536, sha256="2fe87f673fcaf4b2ff68ddb721e96ea9bfb4d682a24bf0d19e02bd7a6137a3fc"),
    RemoteFile(name="sc/fa/swap_att.json", size=338660, sha256="82c66c68344f00705197f96faeeb6c169f3d159a4cb3e57d6edbc951be214670"),
    RemoteFile(name="sc/fa/swap_att_issues.json", size=2, sha256="4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    RemoteFile(name="sc/fa/swap_obj.json", size=128192, sha256="91ad846548d383f96f2cccb0d05180cac7b692027ea13107fab922b4f65d6268"),
    RemoteFile(name="sc/fa/swap_obj_issues.json", size=2, sha256="4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    RemoteFile(name="scpp/de/replace_att.json", size=475415, sha256="f3d2d12fe7464e40a4bd62490cb18f43aa799ab7a5af84d38fb11e4688377c21"),
    RemoteFile(name="scpp/de/replace_att_issues.json", size=2172, sha256="cb040e6ddf6b4b548701573182661df28a969a6593497b5241a5598bb35e8a29"),
    RemoteFile(name="scpp/de/replace_obj.json", size=952528, sha256="b9cd329b8117aadc92b519279a0594e6e3d36fce81988a5a254da113cfa40175"),
    RemoteFile(name="scpp/de/replace_obj_issues.json", size=7647, sha256="7091e926a731ed73190c30e9aa9db189385436a66fdc50aab8cde1631f9f0235"),
    RemoteFile(name="scpp/de/replace_rel.json", size=821574, sha256="9f66c7f1af8f4d70c88e845b9a48c07c98d454f9f58c1d0ae181427b85be068d"),
    RemoteFile(name="scpp/de/replace_rel_issues.json", size=13480, sha256="6df921d82ef05d8d7a76ac5bda712550cc3aa80dca2e1471c35f01e021498d72"),
    RemoteFile(name="scpp/de/swap_att.json", size=418694, sha256="ce5887652afae7ed940957611b368da2d7e5fa5abb5bd20c6f25ccdb34084eec"),
    RemoteFile(name="scpp/de/swap_att_issues.json", size=6268, sha256="ab499a18c9d908b39d99534eec645ff69eda5101664dc7069c5f3a81a0661d6d"),
    RemoteFile(name="scpp/de/swap_obj.json", size=157089, sha256="d089c6202ba938d5e5def0422177ee11795504ab4d16fb9b90c3c831e12f7bf4"),
    RemoteFile(name="scpp/de/swap_obj_issues.json", size=1032, sha256="2f4f3ca1ed182f3f30f6b3e155b3f9fc2f9728d839dbf62b4610311fcc895f33"),
    RemoteFile(name="scpp/es/replace_att.json", size=471511, sha256="ed238a96645c9d15e13804e9437820a230c251d4b7b0c0fb668b05c29a5a666a"),
    RemoteFile(name="scpp/es/replace_att_issues.json", size=3713, sha256="ba21c1bcf70268257db4edcc2d8e7067c5b5b05fc8452ca9be79b71b6aac7df4"),
    RemoteFile(name="scpp/es/replace_obj.json", size=947825, sha256="7045cabac015de0248e668a537c327d3af6a7ee55cb53713dbe5be443dc08b88"),
    RemoteFile(name="scpp/es/replace_obj_issues.json", size=7741, sha256="0ee3f71fb54ddd134972833a17eaabd1ff5e35ab21a0c0bb0f18673c7b7dbd48"),
    RemoteFile(name="scpp/es/replace_rel.json", size=816324, sha256="97178a8eea97b447838a8176ef92034e80d62c779d001563de2c330d1e754395"),
    RemoteFile(name="scpp/es/replace_rel_issues.json", size=14403, sha256="371968d2a4fcec6ff6dd4b279f7e734ee293ba636af5bff8b68da5b320a114ad"),
    RemoteFile(name="scpp/es/swap_att.json", size=416848, sha256="8dd3a8f72f3aed503adce590a0cb7986cd1de2776f04e84daf8fdcabbafb51ed"),
    RemoteFile(name="scpp/es/swap_att_issues.json", size=2877, sha256="3c2d5bcd98374b3cfac6ed7d19b96e55a6d511da7b65679b028ce84667f8a7dd"),
    RemoteFile(name="scpp/es/swap_obj.json", size=156573, sha256="073f247952ffad8d2c83e6e3902e30fbb38ec31158f28f5b7885c6515eeb95dc"),
    RemoteFile(name="scpp/es/swap_obj_issues.json", size=1092, sha256="413a19121de7280608b987eb55c2f8ff9374f4b61245919e143501a2765b4fe6"),
    RemoteFile(name="scpp/fa/replace_att.json", size=566734, sha256="73589a6539244547d18623e35108c31b3a6db6fb7c3067548efa4c62650a0e61"),
    RemoteFile(name="scpp/fa/replace_att_issues.json", size=3851, sha256="29593fa95e4b3b6454533bd7daf65dcf12569f2d0b23a0f93af55b2063626f6f"),
    RemoteFile(name="scpp/fa/replace_obj.json", size=1141231, sha256="d47da136b55ff168994c3153f1a470a62fe7526ffad7715d9d1ba818800d725a"),
    RemoteFile(name="scpp/fa/replace_obj_issues.json", size=12004, sha256="d04e7ae01b1c1a2ab1a5f836978762cdc2ec66cb9f10c004d05b06d4851a25af"),
    RemoteFile(name="scpp/fa/replace_rel.json", size=983956, sha256="253af2fd555b2499c5d368faed50b7137491e423a156478c032b171bdc5125d6"),
    RemoteFile(name="scpp/fa/replace_rel_issues.json", size=15539, sha256="36d3393345ba97405f8c2d6acd4628ba609e45855f60ca2c370704f9dcf332da"),
    RemoteFile(name="scpp/fa/swap_att.json", size=498791, sha256="debebb87e61becb6db47e1b636b029aa3144d765cfd82b6c02c5c326d351ce62"),
    RemoteFile(name="scpp/fa/swap_att_issues.json", size=3710, sha256="56a1f4421514ba36122aeebd8095e3d063653ad6082b8dcca132af0b26742dcb"),
    RemoteFile(name="scpp/fa/swap_obj.json", size=191990, sha256="520df446c1fa5b89c8f3c1893fa282ecbaecf814a1c15a63064b1e688eb041fd"),
    RemoteFile(name="scpp/fa/swap_obj_issues.json", size=790, sha256="a452161ab67ae51fd7bc9f11a1bb73999c30920f7a6220a3bed1ddbb96c4dd5a"),
)  # fmt: skip
ROWS = {
    "sc_de/add_att": 692, "sc_de/add_obj": 2062, "sc_de/replace_att": 788, "sc_de/replace_obj": 1652,
    "sc_de/replace_rel": 1406, "sc_de/swap_att": 666, "sc_de/swap_obj": 245, "sc_es/add_att": 692,
    "sc_es/add_obj": 2062, "sc_es/replace_att": 788, "sc_es/replace_obj": 1652, "sc_es/replace_rel": 1406,
    "sc_es/swap_att": 666, "sc_es/swap_obj": 245, "sc_fa/add_att": 692, "sc_fa/add_obj": 2062,
    "sc_fa/replace_att": 788, "sc_fa/replace_obj": 1652, "sc_fa/replace_rel": 1406, "sc_fa/swap_att": 666,
    "sc_fa/swap_obj": 245, "scpp_de/replace_att": 788, "scpp_de/replace_obj": 1652, "scpp_de/replace_rel": 1406,
    "scpp_de/swap_att": 666, "scpp_de/swap_obj": 245, "scpp_es/replace_att": 788, "scpp_es/replace_obj": 1652,
    "scpp_es/replace_rel": 1406, "scpp_es/swap_att": 666, "scpp_es/swap_obj": 245, "scpp_fa/replace_att": 788,
    "scpp_fa/replace_obj": 1652, "scpp_fa/replace_rel": 1406, "scpp_fa/swap_att": 666, "scpp_fa/swap_obj": 245,
}  # fmt: skip
BENCHMARK = Benchmark(
    description="Which of two or three captions in German, Spanish or Persian describes the image?",
    year=2026,
    licence_id="other",
    source=DataSource(
        title="SugarCrepe and SugarCrepe++ in three languages",
        homepage="https://github.com/Theparia/Multilingual-VLM-Compositionality",
        licence="none stated; images: COCO, under their Flickr licences",
        citation="Multilingual Evaluation of Vision-Language Compositionality, 2026, "
        "github.com/Theparia/Multilingual-VLM-Compositionality",
        root="https://raw.githubusercontent.com/Theparia/Multilingual-VLM-Compositionality/d3101c1e6fa38d50381dbc4bcd273d1616cee8f7/data",
        files=PINNED_FILES,
    ),
    images={f"{file}.json": COCO for file in FILES},
    companions=tuple(f"{file}_issues.json" for file in FILES),
    read_file=read,
    languages=LANGUAGES,
    fields=("filename", "caption", "negative_caption", "source_caption"),
    schema=CHOICE_SCHEMA,
    other_schemas={"scpp_*": PARAPHRASE_SCHEMA},
    chance={"sc_*": 1 / 2, "scpp_*": 1 / 3},
    tested=True,
    rows=ROWS,
    image_count=1560,
    flaws=(
        Flaw(
            rows="92 rows of sc, 267 rows of scpp",
            what="two captions have the same translation in one of the languages",
            source="the authors' lists",
        ),
        Flaw(
            rows="all rows",
            what="translated by a language model and not checked by people",
            source="the authors",
        ),
    ),
)
