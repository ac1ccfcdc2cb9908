// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "aperture/flow/accuracy.hpp"
#include "aperture/flow/estimator.hpp"
#include "aperture/media/image_file.hpp"
#include "apps/common/resident.hpp"
#include "apps/oflow/options.hpp"

namespace aperture::apps {

/// How an image is stored.
struct ImageForm {
    int bits = 8;
    core::index_t channels = 1;
    bool operator==(const ImageForm&) const = default;
};
ImageForm form_of(const media::Image& image);

/// The inputs of `oflow`.
struct OflowInputs {
    media::Image image0;  ///< empty unless arrows are drawn on it
    media::Image image1;  ///< empty unless it is warped
    ImageForm form0;
    ImageForm form1;
    core::Array<float, 2> grey0;
    core::Array<float, 2> grey1;
    core::Array<float, 3> truth;  ///< empty if there is none

    flow::Shape shape() const { return {grey0.extent()[0], grey0.extent()[1]}; }
};

/// Throws core::InvalidArgument for files that cannot be read or differ in size.
OflowInputs read_inputs(const OflowOptions& options, Console& console);

/// flow::Estimator with host memory as input and output. The executor must outlive it.
template <class Executor>
class PairEstimator {
  public:
    PairEstimator(Executor& executor, flow::Shape shape, const flow::Parameters& parameters)
        : executor_(executor),
          shape_(shape),
          estimator_(executor, shape, validated(parameters, shape)),
          image0_(executor),
          image1_(executor),
          flow_(executor) {}

    /// As flow::Estimator::set_parameters.
    void set_parameters(const flow::Parameters& parameters) {
        estimator_.set_parameters(validated(parameters, shape_));
    }

    /// Images and flow are dense. If `start` is true, the run starts from the contents of `flow`.
    /// If `unchanged` is true, images in the memory of the last run's are the same.
    RunTimes run(flow::ImageView<core::Host> image0, flow::ImageView<core::Host> image1,
                 flow::FlowView<core::Host> flow, bool start, bool unchanged = false) {
        const std::array images{image0.data, image1.data};
        const bool again = unchanged && images == images_;
        images_ = images;
        const auto load = [&] {
            if (!again) {
                image0_.load(image0);
                image1_.load(image1);
            }
            if (start) {
                flow_.load(flow);
            } else {
                flow_.attach(flow);
            }
        };
        const auto compute = [&] {
            if (again) {
                estimator_.run_again(image0_.view(), image1_.view(), flow_.view(), start,
                                     &timeline_);
            } else {
                estimator_.run(image0_.view(), image1_.view(), flow_.view(), start, &timeline_);
            }
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
    flow::Shape shape_;
    flow::Estimator<Executor> estimator_;
    std::array<const float*, 2> images_{};  ///< of the last run
    Resident<Executor, const float, 2> image0_;
    Resident<Executor, const float, 2> image1_;
    Resident<Executor, float, 3> flow_;
    core::Timeline timeline_;
};

/// The results of `oflow`.
struct OflowResults {
    core::Array<float, 3> flow;
    RunTimes times;                           ///< of computing `flow`
    std::optional<flow::Accuracy> accuracy;   ///< with a true flow
    core::Array<std::uint8_t, 2> consistent;  ///< 255 if the backward flow agrees, else 0
    std::optional<core::index_t> consistent_pixels;
    double backward_ms = 0;         ///< for the backward flow and its comparison
    std::vector<double> residuals;  ///< at the start and after every iteration
    double largest_motion = 0;      ///< pixels
};

/// Estimates the flow, as often as the options say, and does the other requested work on `cpu`. The
/// times are those of the estimation alone. `unchanged`: see PairEstimator::run.
template <class Executor>
OflowResults run_on(PairEstimator<Executor>& estimator, core::Cpu& cpu, const OflowOptions& options,
                    const OflowInputs& inputs, bool unchanged, Console& console);

/// Compares the flow in `results` with the flow from image 1 to image 0.
template <class Executor>
void check_backward_flow(core::Cpu& cpu, PairEstimator<Executor>& estimator,
                         const OflowInputs& inputs, OflowResults& results);

}  // namespace aperture::apps
