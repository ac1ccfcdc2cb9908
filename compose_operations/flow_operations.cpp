// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "aperture/compose_operations/flow.hpp"
#include "aperture/core/error.hpp"
#include "aperture/flow/words.hpp"
#include "aperture/signal/median.hpp"
#include "aperture/signal/resample.hpp"
#include "compose_operations/call_attributes.hpp"
#include "compose_operations/flow_bodies.cuh"
#include "compose_operations/places.hpp"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose_operations {

std::span<const core::KernelText> kernel_texts();

}  // namespace aperture::compose_operations

namespace aperture::compose {
namespace {

using core::expects;

/// Images in a call, all of the same extents.
void expects_images(const CallSite& site, std::initializer_list<const char*> names) {
    expects(site.operands() == names.size(), site.call.operation, " has ", names.size(),
            names.size() == 1 ? " operand" : " operands", ", not ", site.operands());
    std::size_t i = 0;
    for (const char* name : names) {
        const Type& type = site.type(i++);
        expects(type.kind == Kind::array && type.rank == 2 && type.dtype == Dtype::f32,
                site.call.operation, ": ", name, " is a ", text_of(type),
                ", expected an array f32 of rank 2");
        expects(type == site.type(0), site.call.operation, " of ", text_of(site.type(0)), " and ",
                text_of(type), ": their extents differ");
    }
}

const float* entries(const void* first) { return static_cast<const float*>(first); }

/// Operations that call a body of flow_bodies.cuh for each pixel.
class PixelOperation : public Operation {
  public:
    std::span<const core::KernelText> texts() const override {
        return compose_operations::kernel_texts();
    }

  protected:
    static Code code_of(std::string expression) {
        return {std::move(expression), {}, {"compose_operations/flow_bodies.cuh"}};
    }
    static std::string list(std::span<const std::string> words) {
        std::string all;
        for (const std::string& word : words) all += ", " + word;
        return all;
    }
};

class Warp : public PixelOperation {
  public:
    Match match(const CallSite& site) const override {
        const CallAttributes none(site, {});
        expects_images(site, {"the image", "u", "v"});
        return {Level::element, {site.type(0)}, {{Access::Kind::whole}, {}, {}}, 16};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        const float* const image = entries(operands[0].all);
        const float* const u = entries(operands[1].here);
        const float* const v = entries(operands[2].here);
        auto* const to = static_cast<float*>(results[0]);
        for_each_place(site.type(0), piece, [&](const auto& at, int i) {
            to[i] = bodies::warped(at, image, u[i], v[i]);
        });
    }
    Code code(const CallSite&, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return code_of("bodies::warped(at" + list(operands) + ")");
    }
};

class LandsInside : public PixelOperation {
  public:
    Match match(const CallSite& site) const override {
        const CallAttributes none(site, {});
        expects_images(site, {"u", "v"});
        Type result = site.type(0);
        result.dtype = Dtype::boolean;
        return {Level::element, {result}, {{}, {}}, 6};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        const float* const u = entries(operands[0].here);
        const float* const v = entries(operands[1].here);
        auto* const to = static_cast<bool*>(results[0]);
        for_each_place(site.type(0), piece, [&](const auto& at, int i) {
            to[i] = bodies::lands_inside(at, u[i], v[i]);
        });
    }
    Code code(const CallSite&, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return code_of("bodies::lands_inside(at" + list(operands) + ")");
    }
};

class WindowLeastSquares : public PixelOperation {
  public:
    Match match(const CallSite& site) const override {
        expects_images(site, {"the error", "the gradient across", "the gradient down"});
        const int half = Window(site).half;
        const Access halo{Access::Kind::halo, half, half, half, half};
        const double pixels = (2.0 * half + 1) * (2.0 * half + 1);
        return {Level::element, {site.type(0), site.type(0)}, {halo, halo, halo}, 10 * pixels + 30};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        compute_with(std::make_integer_sequence<int, largest_half>(), site, piece, operands,
                     results);
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string> results) const override {
        const Window window(site);
        return code_of(core::text("bodies::window_least_squares<", window.half, ">(at",
                                  list(operands), ", ", literal(Dtype::f32, window.guard.added),
                                  ", ", literal(Dtype::f32, window.guard.least), list(results),
                                  ")"));
    }

  private:
    static constexpr int largest_half = 5;

    struct Window {
        explicit Window(const CallSite& site) {
            const CallAttributes attributes(site, {"window", "regularisation"});
            const int window = attributes.integer("window", 9);
            expects(window >= 3 && window <= 2 * largest_half + 1 && window % 2 == 1,
                    site.call.operation, "<window = ", window,
                    ">: expected an odd number from 3 to ", 2 * largest_half + 1);
            const double regularisation = attributes.number("regularisation", 0.1);
            expects(regularisation >= 0 && std::isfinite(regularisation), site.call.operation,
                    "<regularisation = ", regularisation, ">: expected 0 or more");
            half = window / 2;
            guard = flow::window_guard(window, regularisation);
        }
        int half;
        flow::WindowGuard guard;
    };

    template <int... below>
    static void compute_with(std::integer_sequence<int, below...>, const CallSite& site,
                             const RowPiece& piece, std::span<const RowOperand> operands,
                             std::span<void* const> results) {
        const Window window(site);
        const auto solve = [&](auto half) {
            for_each_place(site.type(0), piece, [&](const auto& at, int i) {
                bodies::window_least_squares<half>(
                    at, entries(operands[0].all), entries(operands[1].all),
                    entries(operands[2].all), window.guard.added, window.guard.least,
                    static_cast<float*>(results[0])[i], static_cast<float*>(results[1])[i]);
            });
        };
        ((window.half == below + 1 ? solve(std::integral_constant<int, below + 1>()) : void()),
         ...);
    }
};

/// Filters of images by functions of libsignal: a constructor that reads the attributes, the
/// extents of the result, and the call.
struct Median {
    explicit Median(const CallSite& site)
        : size(CallAttributes(site, {"size"}).integer("size", 5)) {
        expects(size == 3 || size == 5 || size == 7, "median<size = ", size,
                ">: expected 3, 5 or 7");
    }
    void set_extents(Type&) const {}
    template <class Executor, class From, class To>
    void run(Executor& executor, const From& from, const To& to) const {
        signal::median_filter(executor, from, size, to);
    }
    int size;
};

struct Blur {
    explicit Blur(const CallSite& site)
        : sigma(static_cast<float>(CallAttributes(site, {"sigma"}).number("sigma", 1))) {
        expects(sigma >= 0 && sigma <= 1000, "blur<sigma = ", sigma, ">: expected 0 to 1000");
    }
    void set_extents(Type&) const {}
    template <class Executor, class From, class To>
    void run(Executor& executor, const From& from, const To& to) const {
        signal::gaussian_blur(executor, from, sigma, to);
    }
    float sigma;
};

/// The attributes rows and columns.
struct NewExtents {
    NewExtents(const CallSite& site, const CallAttributes& attributes)
        : rows(attributes.integer("rows", 0)), columns(attributes.integer("columns", 0)) {
        expects(rows > 0 && columns > 0, site.call.operation,
                " needs attributes rows and columns of 1 or more");
        expects(site.type(0).size() > 0, site.call.operation, " of an image without pixels");
    }
    void set_extents(Type& type) const {
        type.extent[0] = rows;
        type.extent[1] = columns;
    }
    int rows, columns;
};

struct Resize : NewExtents {
    explicit Resize(const CallSite& site)
        : Resize(site, CallAttributes(site, {"rows", "columns", "interpolation"})) {}
    Resize(const CallSite& site, const CallAttributes& attributes)
        : NewExtents(site, attributes),
          interpolation(attributes.choice("interpolation", flow::interpolation_choices,
                                          signal::Interpolation::bicubic)) {}
    template <class Executor, class From, class To>
    void run(Executor& executor, const From& from, const To& to) const {
        signal::resize(executor, from, interpolation, to);
    }
    signal::Interpolation interpolation;
};

struct Downsample : NewExtents {
    explicit Downsample(const CallSite& site)
        : NewExtents(site, CallAttributes(site, {"rows", "columns"})) {}
    template <class Executor, class From, class To>
    void run(Executor& executor, const From& from, const To& to) const {
        signal::downsample(executor, from, to);
    }
};

template <class Filter, class Executor>
class FilterCall : public DeviceCall<Executor> {
  public:
    explicit FilterCall(const CallSite& site)
        : filter_(site), from_(extents_of(site.type(0))), to_(extents_of(result_of(site))) {}

    void run(Executor& executor, std::span<const void* const> operands,
             std::span<void* const> results) override {
        using Space = typename Executor::Space;
        filter_.run(executor, core::View<const float, 2, Space>(entries(operands[0]), from_),
                    core::View<float, 2, Space>(static_cast<float*>(results[0]), to_));
    }

  private:
    static core::Extents<2> extents_of(const Type& type) {
        return {type.extent[0], type.extent[1]};
    }
    static const Type& result_of(const CallSite& site) {
        return site.program[site.call.results[0]].type;
    }

    Filter filter_;
    core::Extents<2> from_, to_;
};

template <class Filter>
class FilterOperation : public Operation {
  public:
    Match match(const CallSite& site) const override {
        expects_images(site, {"the image"});
        Type result = site.type(0);
        Filter(site).set_extents(result);
        return {Level::device, {result}, {{Access::Kind::whole}}, 0};
    }
    std::unique_ptr<DeviceCall<core::Cpu>> prepare(core::Cpu&,
                                                   const CallSite& site) const override {
        return std::make_unique<FilterCall<Filter, core::Cpu>>(site);
    }
#if APERTURE_CUDA
    std::unique_ptr<DeviceCall<core::Gpu>> prepare(core::Gpu&,
                                                   const CallSite& site) const override {
        return std::make_unique<FilterCall<Filter, core::Gpu>>(site);
    }
#endif
};

}  // namespace

void add_flow(Registry& registry) {
    registry.add("warp", std::make_shared<Warp>());
    registry.add("lands_inside", std::make_shared<LandsInside>());
    registry.add("lk_least_squares", std::make_shared<WindowLeastSquares>());
    registry.add("median", std::make_shared<FilterOperation<Median>>());
    registry.add("blur", std::make_shared<FilterOperation<Blur>>());
    registry.add("resize", std::make_shared<FilterOperation<Resize>>());
    registry.add("downsample", std::make_shared<FilterOperation<Downsample>>());
}

}  // namespace aperture::compose
