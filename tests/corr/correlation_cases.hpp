// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aperture/corr/correlator.hpp"
#include "tests/corr/oracle.hpp"

namespace aperture::corr {

/// Kinds of planes.
enum class Content { contrast, bright, constant, impulse, stripes, mask };
inline constexpr Content contents[] = {Content::contrast, Content::bright,  Content::constant,
                                       Content::impulse,  Content::stripes, Content::mask};

/// Planes that are generated independently.
Planes planes_of(Content content, index_t planes, Shape shape, unsigned seed);

/// Planes inside larger ones of NaN, which must have no influence.
class FramedPlanes {
  public:
    explicit FramedPlanes(const Planes& planes);
    PlanesView<core::Host> view() const;

  private:
    core::Extents<3> extent_;
    Planes whole_;
};

/// The promised maximum error, relative to sqrt(sum A^2 sum B^2).
double largest_error(const Problem& problem, Content content = Content::contrast);

struct Case {
    Shape image;
    Lags lags;
};
std::string name_of(const Case& c);
void PrintTo(const Case& c, std::ostream* stream);

/// Images of one row, of one column, and of the kernels' blocks with one pixel more or less.
/// Displacements of one sign and of both.
std::vector<Case> cases();

/// `problem` with every method and precision by which a device computes sums.
std::vector<Problem> device_ways(const Problem& problem);
std::string name_of_way(const Problem& problem);

/// Runs an executor's correlator: sums [planes or 1][dy][dx] of the images of a problem.
using Correlate =
    std::function<core::Array<double, 3>(const Planes& a, const Planes& b, const Problem& problem)>;

/// Compares the sums of an image with another and with itself to the oracle, within the promised
/// error at every displacement.
void expect_the_oracles(Content content, const Case& c, const std::vector<Problem>& problems,
                        const Correlate& correlate);

/// Compares sums of several images at once with those of one image after the other, `one`, within
/// `errors` times the promised one.
void expect_one_by_one(const Problem& one, index_t images, double errors,
                       const Correlate& correlate);

/// Compares every pair of three images, some of them bright, to the oracle: load(image, planes) in
/// any order, repeatedly; then run(a, b) returns sums [planes or 1][dy][dx].
void expect_every_pair(const Problem& problem,
                       const std::function<void(index_t image, const Planes& planes)>& load,
                       const std::function<core::Array<double, 3>(index_t a, index_t b)>& run);

}  // namespace aperture::corr
