"""PCA-GM, PIA-GM (Wang, Yan, Yang; ICCV 2019) and IPCA-GM (TPAMI 2020): embeddings across both graphs."""
