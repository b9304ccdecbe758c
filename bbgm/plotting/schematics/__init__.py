"""Block diagrams, drawn from a network's own sizes: what an image goes through, what a pair becomes, cycle consistency.

The paper has them as Figs. 3, 4 and 5; these are our own drawings.
"""
