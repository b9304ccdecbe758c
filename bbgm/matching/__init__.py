"""From costs to matchings: instances, solvers, and the solver as a differentiable layer (paper Sec. 3.1-3.3, Alg. 1).

May import `bbgm.graphs`, `bbgm.data`, `bbgm.config` and `bbgm.base`.
"""
