// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "aperture/compose_operations/flow.hpp"
#include "aperture/core/error.hpp"
#include "compose_operations/flow_bodies.cuh"
#include "compose_operations/places.hpp"
#include "libcompose/operations/call_attributes.hpp"
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

}  // namespace

void add_flow(Registry& registry) {
    registry.add("warp", std::make_shared<Warp>());
    registry.add("lands_inside", std::make_shared<LandsInside>());
    registry.add("lk_least_squares", std::make_shared<WindowLeastSquares>());
}

}  // namespace aperture::compose
