"""Losses beside the solver's, which look at all pairs of a batch together; the papers are named where a term is."""
