"""One module per data set: its settings, the facts about it that other modules need, and how it is opened.

A further data set is a module like these and one line in `bbgm.config.parts.DATASETS`. May import `bbgm.data.readers`,
`bbgm.data.images`, `bbgm.data.demo`, `bbgm.config` and `bbgm.base`.
"""
