// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>
#include <cmath>
#include <complex>

#include "aperture/core/error.hpp"
#include "aperture/signal/fft.hpp"
#include "aperture/signal/median.hpp"
#include "aperture/signal/resample.hpp"
#include "libcompose/operations/call_attributes.hpp"
#include "libcompose/operations/element_operations.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#if APERTURE_CUDA
#include "libcore/gpu/cuda_check.hpp"
#endif

namespace aperture::compose {
namespace {

using core::expects;

template <class Filter, class Executor>
class FilterCall;
template <class Executor>
class FftCall;

// Functions of libsignal on one array: a constructor that checks a call and reads its attributes,
// the type of the result, flops of an entry, and what calls the function on an executor.

template <class Filter>
struct ImageFilter {
    explicit ImageFilter(const CallSite& site) : result(site.type(0)) {
        expects(result.kind == Kind::array && result.rank == 2 && result.dtype == Dtype::f32,
                site.call.operation, " of ", text_of(result), "; expected an array f32 of rank 2");
    }
    template <class Executor>
    using On = FilterCall<Filter, Executor>;
    Type result;
    double flops = 0;
};

struct Median : ImageFilter<Median> {
    explicit Median(const CallSite& site)
        : ImageFilter(site), size(CallAttributes(site, {"size"}).integer("size", 5)) {
        expects(size == 3 || size == 5 || size == 7, "median<size = ", size,
                ">: expected 3, 5 or 7");
    }
    template <class Executor, class From, class To>
    void run(Executor& executor, const From& from, const To& to) const {
        signal::median_filter(executor, from, size, to);
    }
    int size;
};

struct Blur : ImageFilter<Blur> {
    explicit Blur(const CallSite& site)
        : ImageFilter(site),
          sigma(static_cast<float>(CallAttributes(site, {"sigma"}).number("sigma", 1))) {
        expects(sigma >= 0 && sigma <= 1000, "blur<sigma = ", sigma, ">: expected 0 to 1000");
    }
    template <class Executor, class From, class To>
    void run(Executor& executor, const From& from, const To& to) const {
        signal::gaussian_blur(executor, from, sigma, to);
    }
    float sigma;
};

/// To other extents, the attributes rows and columns.
template <class Filter>
struct Resampling : ImageFilter<Filter> {
    Resampling(const CallSite& site, const CallAttributes& attributes) : ImageFilter<Filter>(site) {
        const int rows = attributes.integer("rows", 0), columns = attributes.integer("columns", 0);
        expects(rows > 0 && columns > 0, site.call.operation,
                " needs attributes rows and columns of 1 or more");
        expects(site.type(0).size() > 0, site.call.operation, " of an image without pixels");
        this->result = array(Dtype::f32, {rows, columns});
    }
};

struct Resize : Resampling<Resize> {
    explicit Resize(const CallSite& site)
        : Resize(site, CallAttributes(site, {"rows", "columns", "interpolation"})) {}
    Resize(const CallSite& site, const CallAttributes& attributes)
        : Resampling(site, attributes),
          interpolation(attributes.choice("interpolation", signal::interpolation_choices,
                                          signal::Interpolation::bicubic)) {}
    template <class Executor, class From, class To>
    void run(Executor& executor, const From& from, const To& to) const {
        signal::resize(executor, from, interpolation, to);
    }
    signal::Interpolation interpolation;
};

struct Downsample : Resampling<Downsample> {
    explicit Downsample(const CallSite& site)
        : Resampling(site, CallAttributes(site, {"rows", "columns"})) {}
    template <class Executor, class From, class To>
    void run(Executor& executor, const From& from, const To& to) const {
        signal::downsample(executor, from, to);
    }
};

template <class Filter, class Executor>
class FilterCall : public DeviceCall<Executor> {
  public:
    FilterCall(Executor&, const CallSite& site)
        : filter_(site), from_(extents_of(site.type(0))), to_(extents_of(filter_.result)) {}

    void run(Executor& executor, std::span<const void* const> operands,
             std::span<void* const> results) override {
        using Space = typename Executor::Space;
        filter_.run(
            executor,
            core::View<const float, 2, Space>(static_cast<const float*>(operands[0]), from_),
            core::View<float, 2, Space>(static_cast<float*>(results[0]), to_));
    }

  private:
    static core::Extents<2> extents_of(const Type& type) {
        return {type.extent[0], type.extent[1]};
    }

    Filter filter_;
    core::Extents<2> from_, to_;
};

using Sample = std::complex<float>;

/// fft(x): forward transforms along the last axis.
struct Fft {
    explicit Fft(const CallSite& site) : result(site.type(0)) {
        const CallAttributes none(site, {});
        expects(result.kind == Kind::array && result.dtype == Dtype::c64, site.call.operation,
                " of ", text_of(result), "; expected an array c64");
        const index_t samples = result.extent[static_cast<std::size_t>(result.rank) - 1];
        expects(samples >= 1 && samples <= INT_MAX, site.call.operation, " of ", text_of(result),
                ": expected rows of 1 to ", INT_MAX, " samples");
        length = static_cast<int>(samples);
        rows = result.size() / samples;
        flops = 5 * std::log2(length);
    }
    template <class Executor>
    using On = FftCall<Executor>;
    Type result;
    double flops;
    int length;
    index_t rows;
};

/// Transforms tiles of rows in memory that is aligned.
template <>
class FftCall<core::Cpu> : public DeviceCall<core::Cpu> {
  public:
    FftCall(core::Cpu& cpu, const CallSite& site)
        : fft_(site),
          // As many as a pack has lanes, or more, are transformed together.
          tile_rows_(std::min<index_t>(fft_.rows, 16)),
          plan_(cpu, {fft_.length, tile_rows_, 1, fft_.length}) {}

    void run(core::Cpu& cpu, std::span<const void* const> operands,
             std::span<void* const> results) override {
        const auto* const from = static_cast<const Sample*>(operands[0]);
        auto* const to = static_cast<Sample*>(results[0]);
        if (fft_.rows == 0) return;
        const index_t of_tile = tile_rows_ * fft_.length, all = fft_.rows * fft_.length;
        const auto transform_tile = [&](index_t tile, std::byte* scratch) {
            const index_t first = tile * of_tile, count = std::min(of_tile, all - first);
            auto* const samples = reinterpret_cast<Sample*>(scratch);
            std::fill(std::copy_n(from + first, count, samples), samples + of_tile, Sample(0));
            plan_.run(samples);
            std::copy_n(samples, count, to + first);
        };
        core::for_each_task(cpu, (fft_.rows + tile_rows_ - 1) / tile_rows_,
                            static_cast<std::size_t>(of_tile) * sizeof(Sample), transform_tile);
    }

  private:
    Fft fft_;
    index_t tile_rows_;
    signal::ForwardFft<core::Cpu> plan_;
};

#if APERTURE_CUDA
template <>
class FftCall<core::Gpu> : public DeviceCall<core::Gpu> {
  public:
    FftCall(core::Gpu& gpu, const CallSite& site)
        : fft_(site), plan_(gpu, {fft_.length, fft_.rows, 1, fft_.length}) {}

    void run(core::Gpu& gpu, std::span<const void* const> operands,
             std::span<void* const> results) override {
        const auto bytes = static_cast<std::size_t>(fft_.result.bytes());
        APERTURE_CUDA_TRY(cudaMemcpyAsync(results[0], operands[0], bytes, cudaMemcpyDeviceToDevice,
                                          gpu.stream()));
        plan_.run(static_cast<Sample*>(results[0]));
    }

  private:
    Fft fft_;
    signal::ForwardFft<core::Gpu> plan_;
};
#endif

template <class Function>
class SignalOperation : public Operation {
  public:
    Match match(const CallSite& site) const override {
        expects(site.operands() == 1, site.call.operation, " has 1 operand, not ", site.operands());
        const Function function(site);
        return {Level::device, {function.result}, {{Access::Kind::whole}}, function.flops};
    }
    std::unique_ptr<DeviceCall<core::Cpu>> prepare(core::Cpu& cpu,
                                                   const CallSite& site) const override {
        return std::make_unique<typename Function::template On<core::Cpu>>(cpu, site);
    }
#if APERTURE_CUDA
    std::unique_ptr<DeviceCall<core::Gpu>> prepare(core::Gpu& gpu,
                                                   const CallSite& site) const override {
        return std::make_unique<typename Function::template On<core::Gpu>>(gpu, site);
    }
#endif
};

}  // namespace

void add_filters(Registry& registry) {
    registry.add("median", std::make_shared<SignalOperation<Median>>());
    registry.add("blur", std::make_shared<SignalOperation<Blur>>());
    registry.add("resize", std::make_shared<SignalOperation<Resize>>());
    registry.add("downsample", std::make_shared<SignalOperation<Downsample>>());
    registry.add("fft", std::make_shared<SignalOperation<Fft>>());
}

}  // namespace aperture::compose
