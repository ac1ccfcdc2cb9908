// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if APERTURE_CUDA

#include <deque>
#include <utility>
#include <vector>

#include "tests/compose/program_memory.hpp"

namespace aperture::compose {

/// Runs on copies on the device, but for scalars that are inputs.
inline void run_on(core::Gpu& gpu, Executable<core::Gpu>& executable, const ProgramMemory& memory) {
    using Bytes = core::Array<std::byte, 1, core::Device>;
    std::deque<Bytes> arrays;
    std::vector<std::pair<const Bytes*, std::byte*>> back;
    const auto on_device = [&](const Argument& host) {
        const index_t bytes = host.type.bytes();
        const Bytes& array = arrays.emplace_back(core::Extents<1>{bytes});
        auto* const data = static_cast<std::byte*>(host.data);
        if (bytes > 0) {
            core::copy(gpu, core::View<const std::byte, 1, core::Host>(data, {bytes}),
                       arrays.back().view());
        }
        back.emplace_back(&array, data);
        return Argument{arrays.back().data(), host.type};
    };
    Arguments there;
    for (const auto& [name, host] : memory.arguments()) {
        const Program& program = *executable.plan().program;
        const bool input = program[program.find(name)].source == Source::input;
        there[name] = input && host.type.is_scalar() ? host : on_device(host);
    }
    std::vector<Argument> values;
    for (const Argument& host : memory.results()) values.push_back(on_device(host));
    executable.run(gpu, there, values);
    for (const auto& [array, to] : back) {
        if (array->size() == 0) continue;
        core::copy(gpu, array->view(), core::View<std::byte, 1, core::Host>(to, {array->size()}));
    }
    gpu.synchronize();
}

}  // namespace aperture::compose

#endif
