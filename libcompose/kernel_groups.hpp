// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libcompose/emit.hpp"

namespace aperture::compose {

/// Kernels that are compiled as one text.
struct KernelGroup {
    std::string text;
    std::vector<std::string> functions;  ///< their names: of each kernel `finish` is the second one
};

/// Where a kernel's machine code is. Without a group the kernel has no text.
struct KernelPlace {
    std::shared_ptr<const KernelGroup> group;
    std::size_t first = 0;  ///< function of the kernel
};

/// That this process may use.
std::size_t processors();

/// Has all kernels of plans of one program compiled, each text once, and returns the places of each
/// plan's by their numbers, and, on a device, of loops_in_one_kernel(plan) behind them. Kernels
/// that neither this process nor the CacheFolder knows are dealt out to as many groups as there are
/// processors. `compile` makes the machine code of a group, or takes it from a cache, on several
/// threads at a time; what it throws is thrown here. If it returns false, the group's kernels are
/// not known later.
std::vector<std::vector<KernelPlace>> compile_groups(
    std::span<const Plan> plans, Target target,
    const std::function<bool(const KernelGroup&)>& compile);

}  // namespace aperture::compose
