// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/grey.hpp"

#include "libcore/cpu/worker_tasks.hpp"
#include "libsignal/grey_level.hpp"

namespace aperture::signal {
namespace {

using core::Host;
using core::index_t;
using core::View;
using Grey = View<float, 2, Host>;

template <class Sample>
void compute_grey(core::Cpu& cpu, const View<const Sample, 3, Host>& planes, const Grey& grey) {
    check_grey(planes, grey);
    const bool colour = planes.extent[0] == 3;
    core::for_each_task(cpu, grey.extent[0], 0, [&](index_t row, std::byte*) {
        for (index_t column = 0; column < grey.extent[1]; ++column) {
            grey(row, column) = grey_at(planes, colour, row, column);
        }
    });
}

}  // namespace

void to_grey(core::Cpu& cpu, View<const float, 3, Host> planes, Grey grey) {
    compute_grey(cpu, planes, grey);
}
void to_grey(core::Cpu& cpu, View<const std::uint8_t, 3, Host> planes, Grey grey) {
    compute_grey(cpu, planes, grey);
}
void to_grey(core::Cpu& cpu, View<const std::uint16_t, 3, Host> planes, Grey grey) {
    compute_grey(cpu, planes, grey);
}

core::Array<float, 2> to_grey(View<const float, 3, Host> planes) {
    core::Array<float, 2> grey({planes.extent[1], planes.extent[2]});
    core::Cpu cpu(1);
    to_grey(cpu, planes, grey);
    return grey;
}

}  // namespace aperture::signal
