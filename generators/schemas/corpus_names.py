"""The training corpora of CREPE's systematicity splits."""

CORPORA = {"cc12m": "CC-12M", "yfcc": "YFCC-15M", "laion": "LAION-400M"}
"""Name in configs -> display name, in the order of the paper."""
