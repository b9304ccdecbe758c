"""GMN and GMN-PL (Zanfir and Sminchisescu, CVPR 2018; Wang, Yan and Yang, ICCV 2019)."""
