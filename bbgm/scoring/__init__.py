"""From matchings to scores: predictions, accuracy and F1, cycle consistency, keypoints without a partner (Sec. 4).

May import `bbgm.data`, `bbgm.config` and `bbgm.base`; nothing here needs torch.
"""
