"""From images to pairs and sets: the three keypoint filters, the samplers of training and test pairs (paper Sec. 4).

May import `bbgm.data.images`, `bbgm.config` and `bbgm.base`.
"""
