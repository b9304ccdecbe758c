// Eigenvectors of symmetric matrices.
#pragma once

#include <vector>

namespace gm {

// Eigenvectors of a symmetric (n, n) matrix by cyclic Jacobi rotations, as the columns of `vectors`; the eigenvalues
// are left on the diagonal of `a`. Rotations by zero are skipped, so blocks cost no more than each on its own.
void eigenvectors(int n, std::vector<double>& a, std::vector<double>& vectors);

}  // namespace gm
