"""The training corpora of CREPE's systematicity splits: the names in configs, in the paper's order, and as printed."""

CORPORA = {"cc12m": "CC-12M", "yfcc": "YFCC-15M", "laion": "LAION-400M"}
