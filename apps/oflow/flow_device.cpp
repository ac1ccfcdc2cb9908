// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/flow_device.hpp"

namespace aperture::apps {
namespace {

using core::Host;

class CpuEstimator final : public PairEstimator {
  public:
    CpuEstimator(core::Cpu& cpu, flow::Shape shape, const flow::Parameters& parameters)
        : estimator_(cpu, shape, parameters) {}

    RunTimes run(flow::ImageView<Host> image0, flow::ImageView<Host> image1,
                 flow::FlowView<Host> flow, bool start) override {
        timeline_.begin_run();
        const core::Stopwatch watch;
        estimator_.run(image0, image1, flow, start, &timeline_);
        const double compute_ms = watch.ms();
        return {timeline_.stages(), compute_ms, 0};
    }
    void watch_convergence(std::vector<double>* residuals) override {
        estimator_.watch_convergence(residuals);
    }

  private:
    flow::Estimator<core::Cpu> estimator_;
    core::Timeline timeline_;
};

#if APERTURE_CUDA
class GpuEstimator final : public PairEstimator {
  public:
    GpuEstimator(core::Gpu& gpu, flow::Shape shape, const flow::Parameters& parameters)
        : gpu_(gpu),
          estimator_(gpu, shape, parameters),
          image0_({shape.rows, shape.columns}),
          image1_({shape.rows, shape.columns}),
          flow_({2, shape.rows, shape.columns}) {}

    RunTimes run(flow::ImageView<Host> image0, flow::ImageView<Host> image1,
                 flow::FlowView<Host> flow, bool start) override {
        timeline_.begin_run();
        core::Stopwatch watch;
        core::copy(gpu_, image0, image0_.view());
        core::copy(gpu_, image1, image1_.view());
        if (start) core::copy(gpu_, flow::ConstFlowView<Host>(flow), flow_.view());
        gpu_.synchronize();
        const double to_device_ms = watch.ms();
        watch.reset();
        estimator_.run(image0_, image1_, flow_, start, &timeline_);
        gpu_.synchronize();
        const double compute_ms = watch.ms();
        watch.reset();
        core::copy(gpu_, std::as_const(flow_).view(), flow);
        gpu_.synchronize();
        return {timeline_.stages(), compute_ms, to_device_ms + watch.ms()};
    }
    void watch_convergence(std::vector<double>* residuals) override {
        estimator_.watch_convergence(residuals);
    }

  private:
    core::Gpu& gpu_;
    flow::Estimator<core::Gpu> estimator_;
    core::Array<float, 2, core::Device> image0_;
    core::Array<float, 2, core::Device> image1_;
    core::Array<float, 3, core::Device> flow_;
    core::Timeline timeline_;
};
#endif

}  // namespace

struct FlowDevice::StartedGpu {
#if APERTURE_CUDA
    core::Gpu gpu;
#endif
};

FlowDevice::FlowDevice(DeviceChoice choice, core::Cpu& cpu, Console& console) : cpu_(cpu) {
    if (use_gpu(choice, console)) gpu_ = std::make_unique<StartedGpu>();
}
FlowDevice::~FlowDevice() = default;

std::string FlowDevice::name() const {
#if APERTURE_CUDA
    if (is_gpu()) return gpu_->gpu.name();
#endif
    return cpu_.name();
}

std::unique_ptr<PairEstimator> FlowDevice::estimator(flow::Shape shape,
                                                     const flow::Parameters& parameters) {
    core::expects(
        parameters.method != flow::Method::lucas_kanade || (shape.rows > 1 && shape.columns > 1),
        "--method lk needs at least 2 rows and 2 columns, as a line of pixels shows no "
        "motion across; these images are ",
        shape.columns, " x ", shape.rows);
#if APERTURE_CUDA
    if (is_gpu()) return std::make_unique<GpuEstimator>(gpu_->gpu, shape, parameters);
#endif
    return std::make_unique<CpuEstimator>(cpu_, shape, parameters);
}

}  // namespace aperture::apps
