// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::flow {

/// Progress of Solver::cg or Solver::cacg.
struct SolverProgress {
    int done = 0;          ///< iterations
    bool stopped = false;  ///< the tolerance or the maximum is reached, or no step is possible
    int products = 0;      ///< with A; Solver::cacg only
};

}  // namespace aperture::flow
