"""Datasets of a user's own images and captions: their columns, their scene graphs, and their hard negatives."""
