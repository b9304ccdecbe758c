"""BB-GM and its ablations (paper Sec. 3): refinement, affinities, the network, and its loss landscape."""
