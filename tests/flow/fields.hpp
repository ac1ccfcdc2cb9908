// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "aperture/flow/field.hpp"
#include "libflow/cpu/warped_image.hpp"
#include "tests/signal/images.hpp"

namespace aperture::flow {

using signal::FramedImage;
using signal::Image;
using signal::Plane;
using signal::unit_roundoff;
using tests::same_bytes;
using Flow = core::Array<float, 3>;  ///< [2][row][column]

inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float infinity = std::numeric_limits<float>::infinity();

inline void PrintTo(const Shape& shape, std::ostream* stream) {
    *stream << shape.rows << 'x' << shape.columns;
}

/// value(row, column) at every pixel.
template <class Value>
Image image_of(Shape shape, const Value& value) {
    Image image({shape.rows, shape.columns});
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) image(y, x) = static_cast<float>(value(y, x));
    }
    return image;
}

/// u(row, column) and v(row, column) at every pixel.
template <class U, class V>
Flow flow_of(Shape shape, const U& u, const V& v) {
    Flow flow({2, shape.rows, shape.columns});
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            flow(0, y, x) = static_cast<float>(u(y, x));
            flow(1, y, x) = static_cast<float>(v(y, x));
        }
    }
    return flow;
}

inline Flow constant_flow(Shape shape, float u, float v) {
    return flow_of(
        shape, [=](index_t, index_t) { return u; }, [=](index_t, index_t) { return v; });
}

/// A flow inside larger planes of NaN. A read outside the flow makes the result NaN, and a write
/// outside is detected.
class FramedFlow {
  public:
    explicit FramedFlow(Shape shape)
        : shape_(shape), whole_(constant_flow(outer(shape), nan, nan)) {}
    explicit FramedFlow(const Flow& flow) : FramedFlow(Shape{flow.extent()[1], flow.extent()[2]}) {
        for (index_t i : {0, 1}) {
            for (index_t y = 0; y < shape_.rows; ++y) {
                for (index_t x = 0; x < shape_.columns; ++x) view()(i, y, x) = flow(i, y, x);
            }
        }
    }

    FlowView<core::Host> view() {
        return whole_.view().slice(1, 2, 2 + shape_.rows).slice(2, 5, 5 + shape_.columns);
    }
    Flow inner() {
        return flow_of(
            shape_, [&](index_t y, index_t x) { return view()(0, y, x); },
            [&](index_t y, index_t x) { return view()(1, y, x); });
    }
    bool frame_is_untouched() const {
        bool untouched = true;
        for (index_t i : {0, 1}) {
            for (index_t y = 0; y < shape_.rows + 3; ++y) {
                for (index_t x = 0; x < shape_.columns + 9; ++x) {
                    const bool inside =
                        y >= 2 && y < 2 + shape_.rows && x >= 5 && x < 5 + shape_.columns;
                    untouched = untouched && (inside || std::isnan(whole_(i, y, x)));
                }
            }
        }
        return untouched;
    }

  private:
    static Shape outer(Shape shape) { return {shape.rows + 3, shape.columns + 9}; }
    Shape shape_;
    Flow whole_;
};

/// value(plane, row, column) at every pixel, in libflow's internal layout.
template <class Value>
PaddedPlanes padded(index_t planes, Shape shape, const Value& value) {
    PaddedPlanes result(planes, shape);
    for (index_t i = 0; i < planes; ++i) {
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) {
                result.row(i, y)[x] = static_cast<float>(value(i, y, x));
            }
        }
    }
    return result;
}

/// Integer grey levels, so that sums of the derivative filter are exact except for its factor 1/12.
inline Image random_levels(Shape shape, unsigned seed, int highest = 255) {
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> level(0, highest);
    return image_of(shape, [&](index_t, index_t) { return level(generator); });
}

/// Multiples of a quarter pixel, so that some targets are exactly on the border, which is inside.
inline Flow random_quarters(Shape shape, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> quarters(-14, 14);
    const auto next = [&](index_t, index_t) { return quarters(generator) / 4.0; };
    return flow_of(shape, next, next);
}

inline PaddedPlanes padded_image(core::Cpu& cpu, const Image& image) {
    PaddedPlanes planes(1, {image.extent()[0], image.extent()[1]});
    load_image(cpu, image, planes);
    return planes;
}
inline PaddedPlanes padded_flow(const Flow& flow) {
    const Shape shape{flow.extent()[1], flow.extent()[2]};
    PaddedPlanes planes =
        padded(2, shape, [&](index_t i, index_t y, index_t x) { return flow(i, y, x); });
    for (index_t y = 0; y < shape.rows; ++y) set_margins(planes, y, Boundary::replicate);
    return planes;
}

/// Correlation with (1, -8, 0, 8, -1) / 12 along one axis.
inline double derivative(const Plane& image, index_t y, index_t x, index_t dy, index_t dx) {
    const double filter[5] = {1, -8, 0, 8, -1};
    double sum = 0;
    for (index_t i = -2; i <= 2; ++i) sum += filter[i + 2] * image(y + i * dy, x + i * dx);
    return sum / 12;
}

}  // namespace aperture::flow
