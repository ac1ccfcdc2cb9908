// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/batch_problem.hpp"

/// How the peers of the library run over a batch.
namespace aperture::bench {

/// Calls body(p, workspace) for every problem. Each thread makes its own workspace.
template <class T, class Make, class Body>
void for_each_problem(BatchProblem<T>& on, const Make& make, const Body& body) {
    const int threads = on.cpu.threads();
#pragma omp parallel num_threads(threads)
    {
        auto workspace = make();
#pragma omp for schedule(static)
        for (index_t p = 0; p < on.problems; ++p) body(p, workspace);
    }
}
template <class T, class Body>
void for_each_problem(BatchProblem<T>& on, const Body& body) {
    for_each_problem(
        on, [] { return 0; }, [&](index_t p, int&) { body(p); });
}

}  // namespace aperture::bench
