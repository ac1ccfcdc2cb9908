// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/estimator.hpp"

#include <algorithm>
#include <array>

#include "aperture/signal/median.hpp"
#include "libflow/coarse_to_fine.hpp"
#include "libflow/cpu/data_term.hpp"
#include "libflow/cpu/lucas_kanade.hpp"
#include "libflow/cpu/robust_terms.hpp"
#include "libflow/cpu/row_loops.hpp"
#include "libflow/cpu/texture.hpp"
#include "libflow/cpu/weighted_median.hpp"

namespace aperture::flow {

template <>
struct EstimatorOperations<core::Cpu> {
    using Planes = PaddedPlanes;
    using Images = std::array<PaddedPlanes, 2>;
    using Windows = WindowedLeastSquares;
    using Constancy = flow::Constancy;
    using WeightedMedian = flow::WeightedMedian;
    using TextureFilter = flow::TextureFilter;
    static constexpr bool fuses = false;

    static Images images(Shape shape, const Parameters&, bool) {
        return {PaddedPlanes(1, shape), PaddedPlanes(1, shape)};
    }
    static core::Timeline::Scope stage(core::Cpu& cpu, core::Timeline* timeline, const char* name) {
        return core::Timeline::stage(timeline, cpu, name, 0, 0);
    }

    static void load(core::Cpu& cpu, ImageView<core::Host> image0, ImageView<core::Host> image1,
                     Images& to) {
        load_image(cpu, image0, to[0]);
        load_image(cpu, image1, to[1]);
    }

    static void blur(core::Cpu& cpu, ImageView<core::Host> image0, ImageView<core::Host> image1,
                     float sigma, Images& to) {
        for (int i : {0, 1}) {
            signal::gaussian_blur(cpu, i == 0 ? image0 : image1, sigma, to[i].view()[0]);
            set_image_margins(cpu, to[i]);
        }
    }

    static void subtract_structure(core::Cpu& cpu, TextureFilter& filter, float share,
                                   Images& images) {
        for (PaddedPlanes& image : images) filter.run(cpu, share, image);
    }

    static void downsample(core::Cpu& cpu, const Images& from, Images& to) {
        for (int i : {0, 1}) {
            signal::downsample(cpu, from[i].view()[0], to[i].view()[0]);
            set_image_margins(cpu, to[i]);
        }
    }

    static void set_zero(core::Cpu& cpu, PaddedPlanes& flow) {
        for_rows(cpu, flow.shape(), [&](index_t y) {
            for (index_t i : {0, 1}) std::fill_n(flow.row(i, y), flow.shape().columns, 0.0F);
        });
    }

    static void rescale(core::Cpu& cpu, ConstFlowView<core::Host> from,
                        const std::array<float, 2>& ratio, PaddedPlanes& to) {
        const Shape shape = to.shape();
        for (int i : {0, 1}) {
            signal::resize(cpu, from[i], signal::Interpolation::bilinear, to.view()[i]);
            for_rows(cpu, shape, [&](index_t y) {
                float* const row = to.row(i, y);
                for (index_t x = 0; x < shape.columns; ++x) row[x] *= ratio[i];
            });
        }
    }

    static void warp(core::Cpu& cpu, const PaddedPlanes& image, const PaddedPlanes& flow,
                     signal::Interpolation interpolation, PaddedPlanes& warped) {
        warp_padded(cpu, image, flow, interpolation, warped);
    }

    static void linearise(core::Cpu& cpu, const Images& images, const PaddedPlanes& warped,
                          const PaddedPlanes& flow, bool whole, PaddedPlanes& terms,
                          PaddedPlanes* start) {
        flow::linearise(cpu, images[0], warped, flow, whole, terms);
        if (start == nullptr) return;
        if (whole) {
            store_planes(cpu, flow, start->view());
        } else {
            set_zero(cpu, *start);
        }
    }

    /// Replaces the solution by the flow plus the limited change; margins repeat the ends of rows.
    static void add_limited_change(core::Cpu& cpu, const PaddedPlanes& flow, bool whole, float most,
                                   PaddedPlanes& solution) {
        const index_t columns = flow.shape().columns;
        for_rows(cpu, flow.shape(), [&](index_t y) {
            for (index_t i : {0, 1}) {
                const float* before = flow.row(i, y);
                float* const now = solution.row(i, y);
                for (index_t x = 0; x < columns; ++x) {
                    now[x] = limited_change(before[x], now[x], whole, most);
                }
            }
            set_margins(solution, y, Boundary::replicate);
        });
    }

    static void copy(core::Cpu& cpu, const PaddedPlanes& from, FlowView<core::Host> to) {
        store_planes(cpu, from, to);
    }

    static void median_filter(core::Cpu& cpu, const PaddedPlanes& from, int size,
                              FlowView<core::Host> to) {
        for (index_t i : {0, 1}) {
            signal::median_filter(cpu, from.view()[i], size, to[i]);
        }
    }
};

template class Estimator<core::Cpu>;

}  // namespace aperture::flow
