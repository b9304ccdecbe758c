"""HARG-SSVM (VGG): a model graph for each class, after Cho, Alahari and Ponce (ICCV 2013)."""
