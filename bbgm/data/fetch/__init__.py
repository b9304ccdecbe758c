"""Downloads: where data sets and weights come from, the transfer, unpacking, and whether what arrived is whole.

May import `bbgm.base`.
"""
