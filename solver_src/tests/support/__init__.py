"""What several tests share: problems to solve, and the optimum of small ones by trying every matching."""
