"""Verification by people: are captions true of their pictures, and hard negatives false?

    compeval annotate sample crepe           # sample/annotations/crepe/items.csv
    compeval annotate export crepe --output to_label --format label-studio
    compeval annotate import crepe anna.json ben.csv
    compeval annotate report crepe

Source: CREPE (arXiv:2212.07796), section 4.3, appendix A.3 and A.5, Tables 4 and 7: 2 % of the generated captions and
1 % of the queries, two annotators a set. Differs from it in: an annotator is asked one thing of every text, whether it
is true of the picture, and is not told which texts are captions; and beside the pairwise agreement stands
Krippendorff's alpha, which takes out what agrees by chance.
"""
