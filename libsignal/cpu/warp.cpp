// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/warp.hpp"

#include "libcore/cpu/worker_tasks.hpp"
#include "libsignal/bicubic_sample.hpp"
#include "libsignal/image_checks.hpp"

namespace aperture::signal {

void warp(core::Cpu& cpu, core::View<const float, 2, core::Host> from, const PixelMap& map,
          float outside, core::View<float, 2, core::Host> to) {
    check_resampling("warp", from, to);
    core::for_each_task(cpu, to.extent[0], 0, [&](core::index_t y, std::byte*) {
        for (core::index_t x = 0; x < to.extent[1]; ++x) {
            Place place;
            to(y, x) =
                maps_inside(map, static_cast<double>(y), static_cast<double>(x), from.extent, place)
                    ? bicubic_sample(from, place)
                    : outside;
        }
    });
}

}  // namespace aperture::signal
