"""Makes fonts/*.ttf out of the npm package @fontsource/inter 5.3.0: python scripts/font.py FOLDER_OF_THE_PACKAGE (needs fonttools and brotli)."""
import sys
import tempfile
from pathlib import Path

from fontTools import subset
from fontTools.merge import Merger
from fontTools.ttLib import TTFont

PACKAGE, OUT = Path(sys.argv[1]), Path(__file__).parent.parent / "fonts"
LETTERS = [*range(0x20, 0x7F), *range(0xA0, 0x180), *range(0x391, 0x3CA)]
SIGNS = [0x2013, 0x2014, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2026, 0x2212]

for weight, name in ((400, "Regular"), (600, "SemiBold")):
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for script in ("latin", "latin-ext", "greek"):
            font = TTFont(PACKAGE / "files" / f"inter-{script}-{weight}-normal.woff2")
            font.flavor = None
            parts.append(f"{folder}/{script}.ttf")
            font.save(parts[-1])
        Merger().merge(parts).save(f"{folder}/merged.ttf")
        font = TTFont(f"{folder}/merged.ttf")
    options = subset.Options(layout_features=["kern", "tnum"], hinting=False, notdef_outline=True)
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14, 16, 17]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=LETTERS + SIGNS)
    subsetter.subset(font)
    font.save(OUT / f"Inter-{name}.ttf")
(OUT / "LICENSE").write_bytes((PACKAGE / "LICENSE").read_bytes())
