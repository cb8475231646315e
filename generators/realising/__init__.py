"""The parts of the grammar realiser: words, then sentences (writer) and the template of four atoms."""
