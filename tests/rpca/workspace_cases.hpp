// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/rpca/robust_pca.hpp"

/// RobustPca::workspace_bytes compared with the allocations of a first run.
namespace aperture::rpca {

/// Every solver and every source of singular values.
inline std::vector<Parameters> all_ways() {
    std::vector<Parameters> ways(7);
    ways[1].solver = Solver::admm;
    ways[2].mask_threshold = 20;
    ways[3].solver = Solver::accaltproj;
    ways[4].solver = Solver::accaltproj;
    ways[4].rank = 7;
    ways[4].mask_threshold = 20;
    ways[5].svd = Svd::tsqr;
    ways[6].svd = Svd::cholqr2;
    for (Parameters& way : ways) way.max_iterations = 1;
    return ways;
}

/// bytes_of_run(m): bytes allocated while a solver is constructed and run.
template <class T, class Run>
void expect_promise(const WorkspaceBytes& promised, index_t frames, index_t values,
                    const Parameters& parameters, const Run& bytes_of_run) {
    SCOPED_TRACE(testing::Message()
                 << values << " x " << frames << ", solver " << static_cast<int>(parameters.solver)
                 << ", svd " << static_cast<int>(parameters.svd));
    core::Array<T, 2> m({frames, values});
    // Black frames have no Cholesky factor, so the promise includes the QR that replaces it.
    const bool black = parameters.svd == Svd::cholqr2;
    for (index_t i = 0; i < m.size(); ++i) {
        m.data()[i] = black ? T(0) : static_cast<T>(i % 251 + i % 83);
    }
    const index_t bytes = bytes_of_run(std::as_const(m).view());
    const index_t promise = promised.host + promised.device;
    EXPECT_GE(promise, bytes);
    // A device that needs only R in fp32 finds that there is no factor before it allocates Q.
    const bool without_q = black && promised.device > 0 && sizeof(T) == sizeof(float);
    const index_t q = without_q ? m.size() * static_cast<index_t>(sizeof(T)) : 0;
    EXPECT_LE(static_cast<double>(promise), 1.1 * static_cast<double>(bytes + q) + 1e6);
}

}  // namespace aperture::rpca
