// Permutation synchronisation.
#pragma once

#include <vector>

#include "bbgm_solver/multi_problem.hpp"

namespace gm {

// Synchronises matchings of the pairs, (n_p,) each, by the leading eigenvectors of their joint permutation matrix
// (Pachauri et al. 2013, with partial matchings): consistent, and as near to the matchings as that allows. Ignores the
// costs; of the problem it needs which pairs there are and which matches they forbid.
Cliques synchronise(const MultiProblem& problem, const std::vector<std::vector<int>>& matchings);

}  // namespace gm
