// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/copy_planes.hpp"

#include "aperture/core/shape.hpp"
#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::signal {

using core::index_t;

void copy_planes(core::Cpu& cpu, core::View<const float, 3, core::Host> from,
                 core::View<float, 3, core::Host> to) {
    core::expects_shape("copy of planes: target", to, from.extent);
    core::for_each_task(cpu, to.extent[1], 0, [&](index_t row, std::byte*) {
        for (index_t plane = 0; plane < to.extent[0]; ++plane) {
            for (index_t column = 0; column < to.extent[2]; ++column) {
                to(plane, row, column) = from(plane, row, column);
            }
        }
    });
}

}  // namespace aperture::signal
