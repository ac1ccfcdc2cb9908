// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Dense>

#include "libcore/gpu/kernel.cuh"

namespace aperture::rpca::oracle {

/// Eigenvectors for gpu::Spectrum on the SIMT host executor.
class EigenEigenvectors {
  public:
    EigenEigenvectors(core::Simt& /*simt*/, int order) : order_(order) {}

    /// 0, since Eigen's temporary memory is not on a device.
    static core::index_t bytes(core::Simt& /*simt*/, int /*order*/) { return 0; }

    void operator()(double* matrix, double* eigenvalues) const {
        Eigen::Map<Eigen::MatrixXd> all(matrix, order_, order_);
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(all);
        all = solver.eigenvectors();
        Eigen::Map<Eigen::VectorXd>(eigenvalues, order_) = solver.eigenvalues();
    }

  private:
    int order_;
};

}  // namespace aperture::rpca::oracle
