// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The same as libcorr/cpu/ground_sums.hpp. Host code, a template on the executor.

#include "libcorr/gpu/ground.cuh"
#include "libcorr/gpu/plane_groups.hpp"

namespace aperture::corr::gpu {

/// Grounds of the planes of all images of a problem, and their contribution to sums of products.
template <class Executor>
class GroundSums {
    using Space = typename Executor::Space;

  public:
    GroundSums(Executor& executor, const Problem& problem)
        : executor_(executor),
          problem_(problem),
          partial_sums_({planes() * ground_parts}),
          groups_(problem, corners() * index_t{sizeof(double)}, most_bytes),
          areas_({corners() * groups_.images * groups_.planes}) {}

    /// Asynchronous.
    void find(const Planes<const float>& image, PlaneGround* grounds) {
        find_grounds(executor_, image, static_cast<int>(planes()), partial_sums_.data(), grounds);
    }

    /// Adds the grounds' contribution to `sums`, in Correlator's layout. Asynchronous.
    void add(const Planes<const float>& a, const PlaneGround* grounds_a,
             const Planes<const float>& b, const PlaneGround* grounds_b, bool same, double* sums) {
        const Lags& lags = problem_.lags;
        const Shape extent = lags.extent();
        GroundTerm term{};
        term.areas = {areas_.data(), static_cast<int>(problem_.image.rows) + 1,
                      static_cast<int>(problem_.image.columns) + 1};
        term.planes = static_cast<int>(groups_.planes);
        term.each_plane = problem_.each_plane;
        term.first_row = static_cast<int>(lags.first_row());
        term.first_column = static_cast<int>(lags.first_column());
        term.lag_rows = static_cast<int>(extent.rows);
        term.lag_columns = static_cast<int>(extent.columns);
        for (index_t image = 0; image < problem_.images; image += groups_.images) {
            const auto images = static_cast<int>(std::min(groups_.images, problem_.images - image));
            for (index_t p = 0; p < problem_.planes; p += term.planes) {
                const index_t plane = image * problem_.planes + p;
                const index_t surface = image * problem_.surfaces() + (problem_.each_plane ? p : 0);
                double* const to = sums + surface * extent.rows * extent.columns;
                const PlaneGround* const own = grounds_a + plane;
                const PlaneGround* const other = grounds_b + plane;
                term.of_a = true;
                term.of_b = same;
                sum_areas(executor_, from_plane(a, plane), images * term.planes, own, other,
                          term.areas);
                add_ground(executor_, term, images, own, other, to);
                if (same) continue;
                term.of_a = false;
                term.of_b = true;
                sum_areas(executor_, from_plane(b, plane), images * term.planes, other, own,
                          term.areas);
                add_ground(executor_, term, images, other, own, to);
            }
        }
    }

  private:
    static constexpr index_t most_bytes = index_t{256} << 20;

    index_t planes() const { return problem_.images * problem_.planes; }
    index_t corners() const { return (problem_.image.rows + 1) * (problem_.image.columns + 1); }

    Executor& executor_;
    Problem problem_;
    core::Array<PartialSums, 1, Space> partial_sums_;
    PlaneGroups groups_;
    core::Array<double, 1, Space> areas_;
};

}  // namespace aperture::corr::gpu
