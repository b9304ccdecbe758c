"""BB-GM: deep graph matching with a blackbox-differentiated solver (Rolinek et al., ECCV 2020)."""

__version__ = "0.1.0"
