"""Deep Graph Matching Consensus (Fey et al., ICLR 2020): the rows DGMC* of the paper's tables."""
