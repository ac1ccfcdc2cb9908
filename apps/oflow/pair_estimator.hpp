// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/flow/estimator.hpp"
#include "apps/common/resident.hpp"

namespace aperture::apps {

/// flow::Estimator with host memory as input and output. The executor must outlive it.
template <class Executor>
class PairEstimator {
  public:
    PairEstimator(Executor& executor, flow::Shape shape, const flow::Parameters& parameters)
        : executor_(executor),
          estimator_(executor, shape, validated(parameters, shape)),
          image0_(executor),
          image1_(executor),
          flow_(executor) {}

    /// Images and flow are dense. If `start` is true, the run starts from the contents of `flow`.
    RunTimes run(flow::ImageView<core::Host> image0, flow::ImageView<core::Host> image1,
                 flow::FlowView<core::Host> flow, bool start) {
        const auto load = [&] {
            image0_.load(image0);
            image1_.load(image1);
            if (start) {
                flow_.load(flow);
            } else {
                flow_.attach(flow);
            }
        };
        const auto compute = [&] {
            estimator_.run(image0_.view(), image1_.view(), flow_.view(), start, &timeline_);
        };
        return run_resident(executor_, timeline_, load, compute, [&] { flow_.store(); });
    }
    void watch_convergence(std::vector<double>* residuals) {
        estimator_.watch_convergence(residuals);
    }

  private:
    static const flow::Parameters& validated(const flow::Parameters& parameters,
                                             flow::Shape shape) {
        core::expects(parameters.method != flow::Method::lucas_kanade ||
                          (shape.rows > 1 && shape.columns > 1),
                      "--method lk requires at least 2 x 2 pixels; the images are ", shape.columns,
                      " x ", shape.rows);
        return parameters;
    }

    Executor& executor_;
    flow::Estimator<Executor> estimator_;
    Resident<Executor, const float, 2> image0_;
    Resident<Executor, const float, 2> image1_;
    Resident<Executor, float, 3> flow_;
    core::Timeline timeline_;
};

}  // namespace aperture::apps
