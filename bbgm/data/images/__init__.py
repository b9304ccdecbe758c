"""Annotated images: the types that every reader returns, the decoded crops, hidden keypoints, the split of a class.

May import `bbgm.config` and `bbgm.base`.
"""
