"""NGM (Wang, Yan and Yang, TPAMI 2021), and NGM with edge embedding."""
