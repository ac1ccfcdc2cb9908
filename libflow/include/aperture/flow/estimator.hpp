// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/owned.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/flow/parameters.hpp"

namespace aperture::flow {

/// Estimates the flow between images of one shape. Holds all workspace: a second run allocates
/// nothing. The result is bitwise reproducible, for any number of threads.
template <class Executor>
class Estimator {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument for an empty shape or parameters out of range, on a Gpu also
    /// for a Lucas-Kanade window too large for signal::box_sum there.
    Estimator(Executor& executor, Shape shape, const Parameters& parameters);

    /// Computes the flow from `image0` to `image1`. If `start` is true, the initial value is
    /// `flow`, scaled down to the coarsest level; otherwise it is zero, and identical images have a
    /// flow of exactly zero. Images must be finite; other values spread. Stages in `timeline`, if
    /// it is not null: pyramid, warp, derivatives, solve, median. On a Gpu the derivatives are part
    /// of warp, except with Implementation::staged, robust estimates or weighted medians, which
    /// store the warped image. Asynchronous on a Gpu, unless SystemSolver::solve is not.
    void run(ImageView<Space> image0, ImageView<Space> image1, FlowView<Space> flow, bool start,
             core::Timeline* timeline);

    /// The same for the images of the last run, which must be unchanged and in the same memory:
    /// what no later change of parameters reaches of their pyramid is not computed again.
    void run_again(ImageView<Space> image0, ImageView<Space> image1, FlowView<Space> flow,
                   bool start, core::Timeline* timeline);

    /// Further runs are those of a new object with these parameters. Keeps the workspace if it is
    /// the same for both. Throws as the constructor, and then leaves the parameters.
    void set_parameters(const Parameters& parameters);

    /// Makes every further run store the residuals of the first system of the finest level in
    /// `residuals`: relative to the right-hand side, the initial one first. Such runs take longer.
    /// Null ends it. Horn-Schunck only.
    void watch_convergence(std::vector<double>* residuals);

  private:
    struct State;
    core::Owned<State> state_;
};

extern template class Estimator<core::Cpu>;

}  // namespace aperture::flow
