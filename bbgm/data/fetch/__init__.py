"""Downloads: where data sets and weights come from, the transfer, unpacking, and the check that all files arrived.

May import `bbgm.base`.
"""
