"""Datasets of somebody's own images and captions: their columns, their scene graphs, and their hard negatives."""
