// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <regex>
#include <span>
#include <string>
#include <vector>

#include "libcompose/emit.hpp"
#include "libcompose/host_compiler.hpp"
#include "libcompose/loops.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/steps.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::compose {

/// A plan whose kernels, those for a GPU, run on the SIMT host executor; the host walks through its
/// steps, but for loops that are one kernel.
class SimtExecutable {
  public:
    /// `with_two_strips`: a block that reads rows twice takes two strips, as those of large images.
    explicit SimtExecutable(Plan plan, bool with_two_strips = false)
        : plan_(std::move(plan)), memory_(plan_), two_strips_(with_two_strips) {
        HostSource source{{}, {}, included_texts(plan_)};
        source.texts.push_back(core::simt::kernel_texts());
        std::vector<GeneratedKernel> generated;
        for (const Kernel* kernel : plan_.kernels()) {
            places_.push_back(generated.size());
            if (!is_generated(*kernel)) continue;
            source.functions.push_back(function_name("elements", generated.size()));
            if (has_finish(*kernel)) {
                source.functions.push_back(function_name("finish", generated.size()));
            }
            generated.push_back(generate(*plan_.program, *kernel, Target::device));
            if (two_strips_) take_two_strips(generated.back().text);
        }
        for (const Step* loop : loops_in_one_kernel(plan_)) {
            loop_places_[loop_of(*loop)->number] = generated.size();
            source.functions.push_back(function_name("loop", generated.size()));
            generated.push_back(generate(*plan_.program, *loop));
        }
        source.text = text_of(generated, Target::device);
        const HostCompiled compiled = compile_on_host(source);
        library_ = compiled.loaded;
        reason = compiled.reason;
    }

    void run(core::Simt& simt, const Arguments& arguments, std::span<const Argument> results) {
        validate(*plan_.program, arguments, results);
        memory_.bind(arguments, results);
        const auto run = [&](const Kernel& kernel) {
            void* const* const row = memory_.symbols();
            launch(simt, kernel, {&row, 1});
        };
        const auto run_loop = [&](const LoopStep& loop) {
            const LaunchShape shape = launch_of(*plan_.program, loop);
            auto sums = numbers_of_others(sums_of(loop));
            int unended = 0;
            const unsigned resident = static_cast<unsigned>(simt.multiprocessors()) * 2;
            core::launch_cooperative(simt,
                                     library_->function<void(kernels::LoopArguments)>(
                                         function_name("loop", loop_places_.at(loop.number))),
                                     {std::min({shape.grid_x, most_blocks, resident}),
                                      {shape.block_x, shape.block_y},
                                      static_cast<std::size_t>(shape.shared_bytes)},
                                     kernels::LoopArguments{const_cast<void**>(memory_.symbols()),
                                                            sums.data(), nullptr, &unended});
            core::expects(unended == 0, "a loop did not end within its limit");
            return true;
        };
        Steps(*plan_.program, memory_, Overloaded{run, run_loop}).walk(plan_.steps);
        memory_.finish(results);
    }

    /// Computes several values, with the symbols of a row each, or the only one.
    void launch(core::Simt& simt, const Kernel& kernel, std::span<void* const* const> rows) const {
        const index_t sums_of_value = sums_of(kernel, Target::device);
        auto sums = numbers_of_others(sums_of_value * index_t(rows.size()));
        std::vector<unsigned> blocks_done(rows.size());
        kernels::GridArguments arguments{
            walk_over(kernel.elements), sums.data(), sums_of_value, blocks_done.data(), {}};
        std::copy(rows.begin(), rows.end(), std::begin(arguments.symbols));
        const auto submit = [&](const char* of, LaunchShape shape) {
            if (two_strips_) shape.shared_bytes = most_bytes_on_chip;
            core::launch(
                simt, function(of, kernel),
                {{std::min(shape.grid_x, most_blocks), shape.grid_y, unsigned(rows.size())},
                 {shape.block_x, shape.block_y},
                 static_cast<std::size_t>(shape.shared_bytes)},
                arguments);
        };
        submit("elements", launch_of(kernel));
        if (has_finish(kernel)) submit("finish", finish_of(kernel));
    }
    const Plan& plan() const { return plan_; }

    /// Why nothing can run.
    std::string reason;
    /// Of grids, which may have any size.
    unsigned most_blocks = std::numeric_limits<unsigned>::max();

  private:
    /// Memory for sums, in which others left NaN.
    static std::vector<kernels::SumNumber> numbers_of_others(index_t count) {
        kernels::SumNumber left;
        std::fill(std::begin(left.bytes), std::end(left.bytes), 0xff);
        return std::vector<kernels::SumNumber>(std::size_t(count), left);
    }
    static void take_two_strips(std::string& text) {
        const std::regex elements("(compute_rows<Kernel, \\d+), 1,"),
            finish("finish_rows<Kernel, 1>");
        text = std::regex_replace(text, elements, "$1, 2,");
        text = std::regex_replace(text, finish, "finish_rows<Kernel, 2>");
    }
    auto function(const char* of, const Kernel& kernel) const -> void (*)(kernels::GridArguments) {
        return library_->function<void(kernels::GridArguments)>(
            function_name(of, places_[static_cast<std::size_t>(kernel.number)]));
    }

    Plan plan_;
    HostMemory memory_;
    bool two_strips_;
    std::shared_ptr<const HostLibrary> library_;
    std::vector<std::size_t> places_;         // in the text, by kernels' numbers
    std::map<int, std::size_t> loop_places_;  // by loops' numbers
};

}  // namespace aperture::compose
