"""Verify with human annotators that captions are true of their images and hard negatives are false.

    compeval annotate sample crepe           # sample/annotations/crepe/items.csv
    compeval annotate export crepe --output to_label --format label-studio
    compeval annotate import crepe anna.json ben.csv
    compeval annotate report crepe

Source: CREPE (arXiv:2212.07796), section 4.3, appendix A.3 and A.5, Tables 4 and 7: 2 % of the generated captions and 1
% of the queries, two annotators per set. Differences from the paper: annotators decide for every text if it is true of
the image, without knowing if the text is a caption or a hard negative. In addition to the pairwise agreement, the
report has Krippendorff's alpha, which corrects for agreement by chance.
"""
