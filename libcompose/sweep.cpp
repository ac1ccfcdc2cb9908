// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/sweep.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "libcompose/sweep_run.hpp"

namespace aperture::compose {

SchemeChoice choose_scheme(const SweepTraits& traits, const Machine& device) {
    constexpr index_t lanes = 32;
    constexpr double megabyte = 1e6, micro = 1e-6;
    const auto naive = [](const auto&... reason) {
        return SchemeChoice{Scheme::naive, 1, core::text(reason...)};
    };
    const auto interleaved = [&](const auto&... reason) {
        return SchemeChoice{Scheme::interleaved, static_cast<int>(std::min(lanes, traits.tasks)),
                            core::text(reason...)};
    };
    core::expects(traits.tasks >= 1 && traits.launches >= 0, "a sweep of ", traits.tasks,
                  " tasks with ", traits.launches, " launches each");
    core::expects(device.bytes_a_second > 0, "the device's bytes a second are ",
                  device.bytes_a_second);
    if (traits.tasks == 1) return naive("there is one task");
    const auto width = static_cast<double>(std::min(lanes, traits.tasks));
    const double needed = traits.common_bytes + width * (traits.own_bytes + traits.arranged_bytes);
    if (device.memory_bytes > 0 && needed > device.memory_bytes) {
        return naive(width, " tasks need ", needed / megabyte, " MB, the device has ",
                     device.memory_bytes / megabyte);
    }
    if (traits.similar && !traits.continuous) {
        return interleaved("tasks access memory alike, but each of them here and there");
    }
    if (!traits.similar && traits.continuous) {
        return naive("a task accesses neighbours in memory, but tasks do not access it alike");
    }
    if (device.shared_bytes > 0 && width * traits.shared_bytes > device.shared_bytes) {
        return naive("what ", width, " tasks keep on chip is more than ", device.shared_bytes,
                     " bytes");
    }
    // Neither scheme coalesces more than the other: bytes and launches decide.
    const double launches = traits.launches * device.launch_seconds;
    const double arrangements = traits.arranged_bytes > 0 ? 2 * device.launch_seconds : 0;
    const double alone =
        launches + (traits.common_bytes + traits.own_bytes) / device.bytes_a_second;
    const double together =
        (launches + arrangements) / width +
        (traits.common_bytes / width + traits.own_bytes + 2 * traits.arranged_bytes) /
            device.bytes_a_second;
    const auto times = core::text("a task is predicted to take ", together / micro,
                                  " us among others, ", alone / micro, " us alone");
    return together < alone ? interleaved(times) : naive(times);
}

std::string_view name_of(SweepAxis axis) {
    switch (axis) {
        case SweepAxis::lanes:
            return "lanes";
        case SweepAxis::side_by_side:
            return "side by side";
        case SweepAxis::one_by_one:
            return "one by one";
    }
    return "";
}

index_t count_values(const Program& program, std::span<const std::string> parameters,
                     const Arguments& arguments) {
    index_t count = -1;
    for (const std::string& name : parameters) {
        const auto found = arguments.find(name);
        core::expects(found != arguments.end(), "sweep: there are no values of ", name);
        const Type& type = found->second.type;
        const Dtype dtype = program[program.find(name)].type.dtype;
        core::expects(type.kind == Kind::array && type.rank == 1 && type.dtype == dtype,
                      "sweep: the values of ", name, " are of type ", text_of(type),
                      "; expected an array ", name_of(dtype), " of one extent");
        core::expects(type.extent[0] > 0 && found->second.data != nullptr, "sweep: the list of ",
                      name, " is empty");
        core::expects(count < 0 || type.extent[0] == count, "sweep: ", name, " has ",
                      type.extent[0], " values, ", parameters.front(), " has ", count);
        count = type.extent[0];
    }
    return count;
}

SweepTraits traits_of(const SplitProgram& programs, const Plan& members,
                      const std::optional<WideProgram>& wide,
                      std::span<const std::string> parameters, index_t values) {
    // A warp's threads, or a cache line's numbers.
    constexpr index_t fewest_neighbours = 32;
    SweepTraits traits;
    traits.similar = programs.is_similar;
    traits.tasks = values;
    const std::vector<const Kernel*> kernels = members.kernels();
    traits.launches = static_cast<int>(std::count_if(
        kernels.begin(), kernels.end(), [](const Kernel* kernel) { return !kernel->exchanges; }));
    const std::vector<bool> in_memory = symbols_in_memory(members);
    for (std::size_t i = 0; i < in_memory.size(); ++i) {
        const Symbol& symbol = members.program->symbols[i];
        const bool is_parameter =
            std::find(parameters.begin(), parameters.end(), symbol.name) != parameters.end();
        const auto bytes = static_cast<double>(symbol.type.bytes());
        if (symbol.source == Source::local) {
            traits.continuous |= symbol.type.size() >= fewest_neighbours;
        }
        if (!in_memory[i] || symbol.source == Source::known) continue;
        (symbol.source == Source::input && !is_parameter ? traits.common_bytes
                                                         : traits.own_bytes) += bytes;
    }
    if (wide && wide->problems > 0) {
        // Values in lanes have common batches as their own.
        traits.own_bytes += traits.common_bytes;
        traits.arranged_bytes = std::exchange(traits.common_bytes, 0);
    }
    return traits;
}

std::vector<std::byte> failed_numbers(const Type& type) {
    std::vector<std::byte> all(static_cast<std::size_t>(type.bytes()));
    const auto fill = [&](auto number) {
        for (std::size_t at = 0; at < all.size(); at += sizeof(number)) {
            std::memcpy(&all[at], &number, sizeof(number));
        }
    };
    const Dtype real = real_of(type.dtype);
    if (real == Dtype::f32) fill(std::numeric_limits<float>::quiet_NaN());
    if (real == Dtype::f64) fill(std::numeric_limits<double>::quiet_NaN());
    return all;
}

template class Sweep<core::Cpu>;

}  // namespace aperture::compose
