"""What the methods share that learn a soft assignment: GMN, PCA-GM, NGM, GLMNet, CIE.

    features at keypoints -> scores of all matches -> Sinkhorn -> loss;    at test a linear assignment

A method's network is a `bbgm.methods.soft.matcher.SoftMatcher` and says what the scores are. Losses are functions, by
name in a configuration.
"""
