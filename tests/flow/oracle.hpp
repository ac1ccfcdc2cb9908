// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include "aperture/core/array.hpp"
#include "aperture/flow/linear_system.hpp"

namespace aperture::flow::oracle {

/// A linear system that owns its arrays.
struct OwnedSystem {
    core::Array<float, 3> tensor;
    core::Array<float, 3> right;
    core::Array<float, 3> coupling;
    float smoothness = 1;
    Boundary boundary = Boundary::replicate;
    Stencil stencil = Stencil::five;

    LinearSystem<core::Host> view() const {
        LinearSystem<core::Host> system;
        system.tensor = tensor.view();
        system.right = right.view();
        if (coupling.size() > 0) system.coupling = coupling.view();
        system.smoothness = smoothness;
        system.boundary = boundary;
        system.stencil = stencil;
        return system;
    }
    Shape shape() const { return {right.extent()[1], right.extent()[2]}; }
};

/// Unknown u of pixel p has index 2 p, v has index 2 p + 1.
Eigen::VectorXd solve(const OwnedSystem& s);

/// The minimum-norm solution of a system that may be singular up to the rounding of its tensors.
Eigen::VectorXd solve_minimum_norm(const OwnedSystem& s);

/// |flow - solution| / |solution| in the maximum norm; the absolute error if the solution is 0.
double relative_error(const core::Array<float, 3>& flow, const Eigen::VectorXd& solution);

/// Tensors and right-hand sides of random gradients, with a quarter of the image flat.
OwnedSystem random_system(Shape shape, unsigned seed, float smoothness);

}  // namespace aperture::flow::oracle
