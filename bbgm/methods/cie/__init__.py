"""CIE-H and CIE-P (Yu, Wang, Yan, Li; ICLR 2020): embeddings of nodes and edges, Hungarian attention."""
