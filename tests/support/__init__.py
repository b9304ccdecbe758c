"""What several tests share: solvers by enumeration, and random draws of instances, pairs and images."""
