// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "libcompose/emit.hpp"
#include "libcompose/host_compiler.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/steps.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::compose {

/// A plan whose kernels, those for a GPU, run on the SIMT host executor; the host walks through its
/// steps.
class SimtExecutable {
  public:
    explicit SimtExecutable(Plan plan) : plan_(std::move(plan)), memory_(plan_) {
        HostSource source{kernel_text(plan_, Target::device), {}, included_texts(plan_)};
        source.texts.push_back(core::simt::kernel_texts());
        for (const Kernel* kernel : plan_.kernels()) {
            if (!is_generated(*kernel)) continue;
            source.functions.push_back(name("elements", *kernel));
            if (has_finish(*kernel)) source.functions.push_back(name("finish", *kernel));
        }
        const HostCompiled compiled = compile_on_host(source);
        library_ = compiled.loaded;
        reason = compiled.reason;
    }

    void run(core::Simt& simt, const Arguments& arguments, std::span<const Argument> results) {
        validate(*plan_.program, arguments, results);
        memory_.bind(arguments, results);
        const auto run = [&](const Kernel& kernel) {
            std::vector<kernels::SumNumber> sums(std::size_t(sums_of(kernel, Target::device)));
            const kernels::KernelArguments values{memory_.symbols(), walk_over(kernel.elements),
                                                  sums.data()};
            const auto launch = [&](const char* of, const LaunchShape& shape) {
                core::launch(simt, function(of, kernel),
                             {{std::min(shape.grid_x, most_blocks), shape.grid_y},
                              {shape.block_x, shape.block_y},
                              static_cast<std::size_t>(shape.shared_bytes)},
                             values);
            };
            launch("elements", launch_of(kernel));
            if (has_finish(kernel)) launch("finish", finish_of(kernel));
        };
        Steps(*plan_.program, memory_, run).walk(plan_.steps);
        memory_.finish(results);
    }

    /// Why nothing can run.
    std::string reason;
    /// Of grids, which may have any size.
    unsigned most_blocks = std::numeric_limits<unsigned>::max();

  private:
    static std::string name(const char* function, const Kernel& kernel) {
        return core::text("aperture::compose::generated::", function, "_", kernel.number);
    }
    auto function(const char* of, const Kernel& kernel) const
        -> void (*)(kernels::KernelArguments) {
        return library_->function<void(kernels::KernelArguments)>(name(of, kernel));
    }

    Plan plan_;
    HostMemory memory_;
    std::shared_ptr<const HostLibrary> library_;
};

}  // namespace aperture::compose
