// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program for 32 values of a parameter. Host code, a template on program and executor. Source:
// Ino et al. 2013, figures 1 and 2.

#include <utility>

#include "bench/sweeps/arrangement.cuh"
#include "libcore/gpu/locked_pages.hpp"
#include "libcore/gpu/stage.cuh"

namespace aperture::bench {

/// A program has input_size() and output_size(), elements of types Input and Output of each task;
/// load(), which copies to the device what all tasks share; and run_one(task, input, output) and
/// run_all(inputs, outputs), which compute in device memory, the latter on [element][task].
template <class Program, class Executor>
class Sweep {
  public:
    using Input = typename Program::Input;
    using Output = typename Program::Output;

    /// `inputs` [task][element] in locked pages. They and the program are not copied.
    Sweep(Executor& executor, Program& program, const core::Array<Input, 2>& inputs)
        : executor_(executor),
          program_(program),
          host_inputs_(inputs),
          inputs_({inputs.size()}),
          interleaved_inputs_({inputs.size()}),
          outputs_({tasks_at_once * program.output_size()}),
          interleaved_outputs_({outputs_.size()}),
          host_outputs_({tasks_at_once, program.output_size()}, core::locked_pages<Space>()) {}

    /// Outputs [task][element], valid until the next call. Stages of the timeline are download,
    /// kernel and readback.
    const core::Array<Output, 2>& one_by_one(core::Timeline* timeline = nullptr) {
        load(timeline);
        const index_t size = program_.output_size();
        for (index_t task = 0; task < tasks_at_once; ++task) {
            download(timeline, task, 1);
            {
                const auto scope = stage(timeline, "kernel");
                program_.run_one(task, std::as_const(inputs_).data(), outputs_.data());
            }
            read_back(timeline, host_outputs_.data() + task * size, size);
        }
        executor_.synchronize();
        return host_outputs_;
    }

    /// The same with all tasks in one launch; the stages arrange inputs and arrange outputs are
    /// between the others.
    const core::Array<Output, 2>& all_at_once(core::Timeline* timeline = nullptr) {
        load(timeline);
        download(timeline, 0, tasks_at_once);
        if (inputs_.size() > 0) {
            const auto scope = stage(timeline, "arrange inputs");
            launch_arrange<true>(executor_, std::as_const(inputs_).data(),
                                 interleaved_inputs_.data(), program_.input_size());
        }
        {
            const auto scope = stage(timeline, "kernel");
            program_.run_all(std::as_const(interleaved_inputs_).data(),
                             interleaved_outputs_.data());
        }
        {
            const auto scope = stage(timeline, "arrange outputs");
            launch_arrange<false>(executor_, std::as_const(interleaved_outputs_).data(),
                                  outputs_.data(), program_.output_size());
        }
        read_back(timeline, host_outputs_.data(), host_outputs_.size());
        executor_.synchronize();
        return host_outputs_;
    }

  private:
    using Space = typename Executor::Space;

    auto stage(core::Timeline* timeline, const char* name) {
        return core::stage_scope(executor_, timeline, name, 0, 0);
    }
    void load(core::Timeline* timeline) {
        const auto scope = stage(timeline, "download");
        program_.load();
    }
    void download(core::Timeline* timeline, index_t first_task, index_t tasks) {
        const index_t size = program_.input_size();
        if (size == 0) return;
        const auto scope = stage(timeline, "download");
        const core::View<const Input, 1> from(host_inputs_.data() + first_task * size,
                                              {tasks * size});
        core::copy(executor_, from, core::View<Input, 1, Space>(inputs_.data(), from.extent));
    }
    void read_back(core::Timeline* timeline, Output* to, index_t size) {
        const auto scope = stage(timeline, "readback");
        const core::View<const Output, 1, Space> from(outputs_.data(), {size});
        core::copy(executor_, from, core::View<Output, 1>(to, from.extent));
    }

    Executor& executor_;
    Program& program_;
    const core::Array<Input, 2>& host_inputs_;
    core::Array<Input, 1, Space> inputs_, interleaved_inputs_;
    core::Array<Output, 1, Space> outputs_, interleaved_outputs_;
    core::Array<Output, 2> host_outputs_;
};

}  // namespace aperture::bench
