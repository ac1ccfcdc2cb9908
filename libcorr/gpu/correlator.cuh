// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Correlator on a device. Host code, a template on the executor and on the transforms it has.

#include "aperture/core/shape.hpp"
#include "libcorr/gpu/direct_correlation.cuh"
#include "libcorr/gpu/fft_correlation.cuh"

namespace aperture::corr::gpu {

template <class Executor, class Transforms>
class DeviceCorrelator {
    using Space = typename Executor::Space;

  public:
    DeviceCorrelator(Executor& executor, const Problem& problem)
        : executor_(executor),
          problem_(problem),
          partial_sums_({planes() * ground_parts}),
          grounds_a_({planes()}),
          grounds_b_({planes()}) {
        validate(problem);
        // Grids have a block for each.
        constexpr index_t most_planes = 65535;
        core::expects(planes() <= most_planes, planes(), " planes at once, expected up to ",
                      most_planes, " on a GPU");
        if (problem.method == Method::direct) {
            direct_ = make_direct_sums(executor, problem);
        } else {
            fft_ = std::make_unique<FftCorrelation<Executor, Transforms>>(executor, problem);
        }
        const index_t corners = (problem.image.rows + 1) * (problem.image.columns + 1);
        ground_groups_ = PlaneGroups(problem, corners * index_t{sizeof(double)}, most_area_bytes);
        areas_ = core::Array<double, 1, Space>(
            {corners * ground_groups_.images * ground_groups_.planes});
    }

    void run(PlanesView<Space> a, PlanesView<Space> b, core::View<double, 3, Space> sums) {
        const auto [rows, columns] = problem_.image;
        const Shape extent = problem_.lags.extent();
        core::expects_shape("image a", a, {planes(), rows, columns}, core::Strides::unit_last);
        core::expects_shape("image b", b, {planes(), rows, columns}, core::Strides::unit_last);
        core::expects_shape("sums", sums,
                            {problem_.images * surfaces(), extent.rows, extent.columns},
                            core::Strides::dense);
        const bool same = a.data == b.data && a.stride == b.stride;
        const Planes<const float> of_a = signal::gpu::planes_of(a);
        const Planes<const float> of_b = signal::gpu::planes_of(b);
        find_grounds(executor_, of_a, static_cast<int>(planes()), partial_sums_.data(),
                     grounds_a_.data());
        if (!same) {
            find_grounds(executor_, of_b, static_cast<int>(planes()), partial_sums_.data(),
                         grounds_b_.data());
        }
        const PlaneGround* const grounds_a = grounds_a_.data();
        const PlaneGround* const grounds_b = same ? grounds_a : grounds_b_.data();
        if (direct_) {
            for (index_t i = 0; i < problem_.images; ++i) {
                const index_t plane = i * problem_.planes;
                direct_->run({from_plane(of_a, plane), grounds_a + plane},
                             {from_plane(of_b, plane), grounds_b + plane}, same,
                             sums.data + i * surfaces() * extent.rows * extent.columns);
            }
        } else {
            fft_->run(of_a, grounds_a, of_b, grounds_b, same, sums.data);
        }
        add_grounds(of_a, grounds_a, of_b, grounds_b, same, sums.data);
    }

  private:
    static constexpr index_t most_area_bytes = index_t{256} << 20;

    index_t planes() const { return problem_.images * problem_.planes; }
    index_t surfaces() const { return problem_.each_plane ? problem_.planes : 1; }
    static Planes<const float> from_plane(Planes<const float> planes, index_t first) {
        planes.data += first * planes.stride;
        return planes;
    }

    void add_grounds(const Planes<const float>& a, const PlaneGround* grounds_a,
                     const Planes<const float>& b, const PlaneGround* grounds_b, bool same,
                     double* sums) {
        const Lags& lags = problem_.lags;
        const Shape extent = lags.extent();
        GroundTerm term{};
        term.areas = {areas_.data(), static_cast<int>(problem_.image.rows) + 1,
                      static_cast<int>(problem_.image.columns) + 1};
        term.planes = static_cast<int>(ground_groups_.planes);
        term.each_plane = problem_.each_plane;
        term.first_row = static_cast<int>(lags.first_row());
        term.first_column = static_cast<int>(lags.first_column());
        term.lag_rows = static_cast<int>(extent.rows);
        term.lag_columns = static_cast<int>(extent.columns);
        for (index_t image = 0; image < problem_.images; image += ground_groups_.images) {
            const auto images =
                static_cast<int>(std::min(ground_groups_.images, problem_.images - image));
            for (index_t p = 0; p < problem_.planes; p += term.planes) {
                const index_t plane = image * problem_.planes + p;
                const index_t surface = image * surfaces() + (problem_.each_plane ? p : 0);
                double* const to = sums + surface * extent.rows * extent.columns;
                const PlaneGround* const own = grounds_a + plane;
                const PlaneGround* const other = grounds_b + plane;
                term.sums_a = true;
                term.with_both = true;
                sum_areas(executor_, from_plane(a, plane), images * term.planes, own, other,
                          term.areas);
                add_ground(executor_, term, images, own, other, to);
                if (!same) {
                    sum_areas(executor_, from_plane(b, plane), images * term.planes, other, own,
                              term.areas);
                }
                term.sums_a = false;
                term.with_both = false;
                add_ground(executor_, term, images, other, own, to);
            }
        }
    }

    Executor& executor_;
    Problem problem_;
    core::Array<PartialSums, 1, Space> partial_sums_;
    core::Array<PlaneGround, 1, Space> grounds_a_;
    core::Array<PlaneGround, 1, Space> grounds_b_;
    std::unique_ptr<DirectSums<Executor>> direct_;
    std::unique_ptr<FftCorrelation<Executor, Transforms>> fft_;
    PlaneGroups ground_groups_;
    core::Array<double, 1, Space> areas_;
};

}  // namespace aperture::corr::gpu
