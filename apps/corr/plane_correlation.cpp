// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/plane_correlation.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "aperture/core/timing.hpp"
#include "aperture/corr/pair_correlator.hpp"

namespace aperture::apps {
namespace {

using core::Host;
using core::index_t;

/// The planes of both images, those of B from its first use on.
template <class Space>
class PlanesOfOperands {
  public:
    explicit PlanesOfOperands(const corr::Problem& problem)
        : extent_({problem.planes, problem.image.rows, problem.image.columns}) {}

    core::Array<float, 3, Space>& of(Operand operand) {
        auto& planes = planes_[static_cast<std::size_t>(operand)];
        planes.reshape(extent_);
        return planes;
    }
    const core::Array<float, 3, Space>& of(Operand operand) const {
        return planes_[static_cast<std::size_t>(operand)];
    }

  private:
    core::Extents<3> extent_;
    std::array<core::Array<float, 3, Space>, 2> planes_;
};

/// Planes of A from an image, and their sums of products with themselves, as stages.
template <class Executor, class Space = typename Executor::Space>
void correlate_with_itself(Executor& executor, corr::ImagePlanes<Executor>& image_planes,
                           corr::Correlator<Executor>& correlator, core::Timeline& timeline,
                           core::View<const float, 3, Space> image,
                           core::Array<float, 3, Space>& planes,
                           core::View<double, 3, Space> sums) {
    {
        const auto stage = core::Timeline::stage(&timeline, executor, "planes", 0, 0);
        image_planes.derive(image, planes);
    }
    const auto stage = core::Timeline::stage(&timeline, executor, "correlate", 0, 0);
    correlator.run(planes, planes, sums);
}

class CpuCorrelation final : public PlaneCorrelation {
  public:
    CpuCorrelation(core::Cpu& cpu, const corr::Problem& problem, corr::PlaneKind kind,
                   corr::Normalization normalization)
        : cpu_(cpu),
          image_planes_(cpu, kind, normalization),
          correlator_(cpu, problem),
          planes_(problem) {}

    void derive(Operand operand, index_t first, index_t end, ImageView image,
                const MaskView* mask) override {
        const auto to = planes_.of(operand).view().slice(0, first, end);
        if (mask == nullptr) {
            image_planes_.derive(image, to);
        } else {
            image_planes_.derive(image, *mask, to);
        }
    }
    corr::PlanesView<Host> planes(Operand operand) override {
        return std::as_const(planes_).of(operand).view();
    }
    void correlate(Operand a, Operand b, core::View<double, 3, Host> sums) override {
        correlate(planes(a), planes(b), sums);
    }
    void correlate(corr::PlanesView<Host> a, corr::PlanesView<Host> b,
                   core::View<double, 3, Host> sums) override {
        correlator_.run(a, b, sums);
    }
    double take_transfer_ms() override { return 0; }

    void begin(std::size_t place, ImageView image, core::View<double, 3, Host> sums) override {
        core::Timeline& timeline = timelines_.at(place);
        timeline.begin_run();
        correlate_with_itself(cpu_, image_planes_, correlator_, timeline, image,
                              planes_.of(Operand::a), sums);
    }
    RunTimes finish(std::size_t place) override {
        RunTimes times{timelines_.at(place).stages()};
        for (const core::Stage& stage : times.stages) times.compute_ms += stage.ms;
        return times;
    }

  private:
    core::Cpu& cpu_;
    corr::ImagePlanes<core::Cpu> image_planes_;
    corr::Correlator<core::Cpu> correlator_;
    PlanesOfOperands<Host> planes_;
    std::array<core::Timeline, places> timelines_;
};

class CpuPairs final : public PairCorrelation {
  public:
    CpuPairs(core::Cpu& cpu, const corr::Problem& problem, index_t images)
        : correlator_(cpu, problem, images) {}

    void take(index_t image, corr::PlanesView<Host> planes) override {
        correlator_.take(image, planes);
    }
    void run(index_t a, index_t b, core::View<double, 3, Host> sums) override {
        correlator_.run(a, b, sums);
    }

  private:
    corr::PairCorrelator<core::Cpu> correlator_;
};

#if APERTURE_CUDA
class GpuPairs final : public PairCorrelation {
  public:
    GpuPairs(core::Gpu& gpu, const corr::Problem& problem, index_t images)
        : gpu_(gpu),
          correlator_(gpu, problem, images),
          planes_({problem.planes, problem.image.rows, problem.image.columns}),
          sums_({problem.each_plane ? problem.planes : 1, problem.lags.extent().rows,
                 problem.lags.extent().columns}) {}

    void take(index_t image, corr::PlanesView<Host> planes) override {
        core::copy(gpu_, planes, planes_.view());
        correlator_.take(image, planes_);
        gpu_.synchronize();
    }
    void run(index_t a, index_t b, core::View<double, 3, Host> sums) override {
        correlator_.run(a, b, sums_);
        core::copy(gpu_, std::as_const(sums_).view(), sums);
        gpu_.synchronize();
    }

  private:
    core::Gpu& gpu_;
    corr::PairCorrelator<core::Gpu> correlator_;
    core::Array<float, 3, core::Device> planes_;
    core::Array<double, 3, core::Device> sums_;
};

class GpuCorrelation final : public PlaneCorrelation {
  public:
    GpuCorrelation(core::Gpu& gpu, const corr::Problem& problem, corr::PlaneKind kind,
                   corr::Normalization normalization)
        : gpu_(gpu),
          image_planes_(gpu, kind, normalization),
          correlator_(gpu, problem),
          planes_(problem),
          on_host_(problem),
          others_(problem),
          sums_({problem.each_plane ? problem.planes : 1, problem.lags.extent().rows,
                 problem.lags.extent().columns}) {}
    /// Whatever is under way reads and writes memory of the caller's.
    ~GpuCorrelation() override {
        try {
            gpu_.synchronize();
        } catch (const core::DeviceError&) {
            // Whoever waited for the work was told.
        }
    }
    GpuCorrelation(const GpuCorrelation&) = delete;
    GpuCorrelation& operator=(const GpuCorrelation&) = delete;

    void derive(Operand operand, index_t first, index_t end, ImageView image,
                const MaskView* mask) override {
        image_.reshape(image.extent);
        copy_timed(image, image_.view());
        const auto to = planes_.of(operand).view().slice(0, first, end);
        const auto from = std::as_const(image_).view();
        if (mask == nullptr) {
            image_planes_.derive(from, to);
        } else {
            mask_.reshape(mask->extent);
            copy_timed(*mask, mask_.view());
            image_planes_.derive(from, std::as_const(mask_).view(), to);
        }
        gpu_.synchronize();
        fetched_[static_cast<std::size_t>(operand)] = false;
    }
    corr::PlanesView<Host> planes(Operand operand) override {
        bool& fetched = fetched_[static_cast<std::size_t>(operand)];
        if (!fetched) {
            copy_timed(std::as_const(planes_).of(operand).view(), on_host_.of(operand).view());
        }
        fetched = true;
        return std::as_const(on_host_).of(operand).view();
    }
    void correlate(Operand a, Operand b, core::View<double, 3, Host> sums) override {
        correlate_on_device(std::as_const(planes_).of(a).view(),
                            std::as_const(planes_).of(b).view(), sums);
    }
    void correlate(corr::PlanesView<Host> a, corr::PlanesView<Host> b,
                   core::View<double, 3, Host> sums) override {
        const corr::PlanesView<Device> of_a = upload(a, Operand::a);
        correlate_on_device(of_a, a.data == b.data ? of_a : upload(b, Operand::b), sums);
    }
    double take_transfer_ms() override { return std::exchange(transfer_ms_, 0); }

    // All of it in one stream: an image's copies and kernels come after those of the image before,
    // so that all share the memory on the device, and the last stage's end is the end of all.
    void begin(std::size_t place, ImageView image, core::View<double, 3, Host> sums) override {
        core::Timeline& timeline = timelines_.at(place);
        timeline.begin_run();
        // Once for grey images and for those in colour: what is under way may still read it.
        image_.reshape({std::max<index_t>(image.extent[0], 3), image.extent[1], image.extent[2]});
        image_.reshape(image.extent);
        {
            const auto stage = core::Timeline::stage(&timeline, gpu_, "upload", 0, 0);
            core::copy(gpu_, image, image_.view());
        }
        correlate_with_itself(gpu_, image_planes_, correlator_, timeline,
                              std::as_const(image_).view(), planes_.of(Operand::a), sums_.view());
        const auto stage = core::Timeline::stage(&timeline, gpu_, "download", 0, 0);
        core::copy(gpu_, std::as_const(sums_).view(), sums);
        fetched_[static_cast<std::size_t>(Operand::a)] = false;
    }
    RunTimes finish(std::size_t place) override {
        RunTimes times;
        for (core::Stage& stage : timelines_.at(place).stages()) {
            if (stage.name == "upload" || stage.name == "download") {
                times.transfer_ms += stage.ms;
            } else {
                times.compute_ms += stage.ms;
                times.stages.push_back(std::move(stage));
            }
        }
        return times;
    }

  private:
    using Device = core::Device;

    template <class From, class To>
    void copy_timed(const From& from, const To& to) {
        const core::Stopwatch watch;
        core::copy(gpu_, from, to);
        gpu_.synchronize();
        transfer_ms_ += watch.ms();
    }
    void correlate_on_device(corr::PlanesView<Device> a, corr::PlanesView<Device> b,
                             core::View<double, 3, Host> sums) {
        correlator_.run(a, b, sums_);
        gpu_.synchronize();
        copy_timed(std::as_const(sums_).view(), sums);
    }
    corr::PlanesView<Device> upload(corr::PlanesView<Host> planes, Operand operand) {
        core::Array<float, 3, Device>& there = others_.of(operand);
        copy_timed(planes, there.view());
        return std::as_const(there).view();
    }

    core::Gpu& gpu_;
    corr::ImagePlanes<core::Gpu> image_planes_;
    corr::Correlator<core::Gpu> correlator_;
    PlanesOfOperands<Device> planes_;
    PlanesOfOperands<Host> on_host_;
    std::array<bool, 2> fetched_{};
    PlanesOfOperands<Device> others_;  ///< what estimators make of planes
    core::Array<double, 3, Device> sums_;
    core::Array<float, 3, Device> image_;
    core::Array<float, 2, Device> mask_;
    double transfer_ms_ = 0;
    std::array<core::Timeline, places> timelines_;
};
#endif

}  // namespace

struct CorrelationDevice::StartedGpu {
#if APERTURE_CUDA
    core::Gpu gpu;
#endif
};

CorrelationDevice::CorrelationDevice(DeviceChoice choice, core::Cpu& cpu, Console& console)
    : cpu_(cpu) {
    if (use_gpu(choice, console)) gpu_ = std::make_unique<StartedGpu>();
}
CorrelationDevice::~CorrelationDevice() = default;

std::string CorrelationDevice::name() const {
#if APERTURE_CUDA
    if (is_gpu()) return gpu_->gpu.name();
#endif
    return cpu_.name();
}

corr::MethodChoice CorrelationDevice::choose_method(const corr::Problem& problem, bool same) const {
#if APERTURE_CUDA
    if (is_gpu()) return corr::choose_gpu_method(problem, gpu_->gpu.multiprocessors(), same);
#endif
    return corr::choose_method(problem, cpu_.threads(), same);
}

std::unique_ptr<PlaneCorrelation> CorrelationDevice::correlation(
    const corr::Problem& problem, corr::PlaneKind kind, corr::Normalization normalization) {
#if APERTURE_CUDA
    if (is_gpu()) {
        return std::make_unique<GpuCorrelation>(gpu_->gpu, problem, kind, normalization);
    }
#endif
    return std::make_unique<CpuCorrelation>(cpu_, problem, kind, normalization);
}

std::unique_ptr<PairCorrelation> CorrelationDevice::pairs(const corr::Problem& problem,
                                                          index_t images) {
#if APERTURE_CUDA
    if (is_gpu()) return std::make_unique<GpuPairs>(gpu_->gpu, problem, images);
#endif
    return std::make_unique<CpuPairs>(cpu_, problem, images);
}

}  // namespace aperture::apps
