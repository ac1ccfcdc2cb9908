// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/loops.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "aperture/core/error.hpp"
#include "libcompose/line_calls.hpp"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose {
namespace {

/// Launches in a graph without loops: instantiating takes about a microsecond each.
constexpr std::int64_t most_launches = 4096;

/// Launches of a plan of kernels and counted loops; more than most_launches if conditions decide.
std::int64_t count_launches(const Program& program, const std::vector<Step>& steps) {
    std::int64_t all = 0;
    for (const Step& step : steps) {
        const auto* const repeat = std::get_if<Repeat>(&step.what);
        if (std::holds_alternative<Kernel>(step.what)) {
            ++all;
        } else if (repeat != nullptr && !repeat->in_one_kernel) {
            const std::int64_t of_body = count_launches(program, repeat->body);
            const std::int64_t count = program[repeat->loop->count].value;
            all += of_body == 0                      ? 0
                   : count > most_launches / of_body ? most_launches + 1
                                                     : count * of_body;
        } else {
            return most_launches + 1;
        }
        if (all > most_launches) break;
    }
    return all;
}

/// Rows of threads of a block, one on a multiprocessor: few blocks wait for less time.
constexpr unsigned threads_down = 16;

/// Shared memory of the kernels of a loop: every block adds up the sums of strips.
index_t shared_before(const LoopStep& loop) {
    index_t sums = 0;
    for_each_kernel(loop.body, [&](const Kernel& kernel) {
        if (has_sums(kernel)) sums = std::max(sums, sums_of(kernel, Target::cpu));
    });
    return sums * index_t{sizeof(kernels::SumNumber)};
}

/// Writes the body of a loop, and finds what it reads or sets.
class LoopWriter {
  public:
    explicit LoopWriter(const Program& program) : program_(program) {}

    GeneratedKernel generate(const Step& step) {
        const LoopStep& loop = *loop_of(step);
        std::visit([&](const auto& what) { add(what); }, step.what);
        std::string takes, gives;
        for (const auto& [id, i] : scalars_) {
            const std::string types_and_places = core::text(type_of(id), ">(", i, ", ", id, ");\n");
            takes += "    loop.take<" + types_and_places;
            if (set_.count(id) > 0) gives += "    loop.give<" + types_and_places;
        }
        for (const SymbolId id : moved_) gives += core::text("    loop.give_place(", id, ");\n");
        generated_.headers.insert("libcompose/kernels/loops.cuh");
        generated_.functions = {"loop"};
        generated_.text += core::text(
            "__global__ void __launch_bounds__(", threads_down * LaunchShape().block_x,
            ", 1) loop(kernels::LoopArguments arguments) {\n", "    kernels::Loop loop(arguments, ",
            shared_before(loop), ", ", program_.symbols.size(), ", ", sums_of(loop) / 2, ");\n",
            takes, "    __syncthreads();\n", body_, "    loop.end();\n", gives, "}\n");
        return std::move(generated_);
    }

  private:
    std::string type_of(SymbolId id) const {
        const Dtype dtype = program_[id].type.dtype;
        // What was not set yet need not be a bool.
        return dtype == Dtype::boolean ? "unsigned char" : std::string(cpp_type(dtype));
    }
    /// The number of a scalar.
    int scalar(SymbolId id) {
        return scalars_.emplace(id, static_cast<int>(scalars_.size())).first->second;
    }
    void line(const std::string& text) { body_ += std::string(4 * depth_, ' ') + text + "\n"; }
    void block(const std::string& head, const std::string& first, const std::vector<Step>& steps) {
        line(head + " {");
        ++depth_;
        if (!first.empty()) line(first);
        for (const Step& step : steps) {
            std::visit([&](const auto& what) { add(what); }, step.what);
        }
        --depth_;
        line("}");
    }

    void add(const Kernel& kernel) {
        if (kernel.exchanges) {
            for (const PlannedCall& planned : kernel.calls) {
                const SymbolId a = planned.call->results[0], b = planned.call->operands[0];
                line(core::text("loop.exchange(", a, ", ", b, ");"));
                moved_.insert({a, b});
            }
            return;
        }
        for (const SymbolId id : kernel.loads) {
            if (program_[id].type.is_scalar()) scalar(id);
        }
        for (const SymbolId id : kernel.stores) {
            if (!program_[id].type.is_scalar()) continue;
            scalar(id);
            set_.insert(id);
        }
        const std::string name = core::text("body_", kernels_++);
        generated_.text +=
            core::text("namespace ", name, " {\n",
                       struct_of(program_, kernel, Target::device, generated_), "}\n");
        if (kernel.elements.rank == 0) {
            return line(core::text("loop.scalars<", name, "::Kernel>();"));
        }
        const kernels::Walk walk = walk_over(kernel.elements);
        line(core::text("loop.elements<", name, "::Kernel>({", walk.rows, ", ", walk.columns, ", ",
                        walk.rows_of_plane, ", ", walk.count, "});"));
    }
    void add(const Repeat& repeat) {
        const std::string i = core::text("i", repeat.number);
        set_.insert(repeat.loop->variable);
        block(core::text("for (long long ", i, " = 0; ", i, " < ",
                         program_[repeat.loop->count].value, "; ++", i, ")"),
              core::text("loop.set(", scalar(repeat.loop->variable), ", ", i, ");"), repeat.body);
    }
    void add(const RepeatWhile& repeat) {
        const std::string i = core::text("i", repeat.number);
        block(
            core::text("for (long long ", i, " = 0; loop.holds(", scalar(repeat.loop->condition),
                       "); ++", i, ")"),
            core::text("if (", i, " == ", repeat.loop->limit, ") { loop.tell_unended(); break; }"),
            repeat.body);
    }
    void add(const Branch& branch) {
        block(core::text("if (loop.holds(", scalar(branch.branch->condition), "))"), "",
              branch.body);
        if (!branch.otherwise.empty()) block("else", "", branch.otherwise);
    }
    void add(const Break&) { line("break;"); }

    const Program& program_;
    std::map<SymbolId, int> scalars_;
    std::set<SymbolId> set_, moved_;
    GeneratedKernel generated_;
    int kernels_ = 0;
    std::string body_;
    std::size_t depth_ = 1;
};

}  // namespace

bool is_unrolled(const Program& program, const std::vector<Step>& steps) {
    return count_launches(program, steps) <= most_launches;
}

bool may_be_one_kernel(const LoopStep& loop) {
    bool some = false, all = true;
    for_each_kernel(loop.body, [&](const Kernel& kernel) {
        some = some || !kernel.exchanges;
        all = all && (kernel.exchanges || (is_generated(kernel) && kernel.parts.empty() &&
                                           !is_of_batches(kernel) && !is_of_rows(kernel)));
    });
    return some && all;
}

std::vector<const Step*> loops_in_one_kernel(const Plan& plan) {
    std::vector<const Step*> all;
    for_each_loop(plan.steps, [&](const Step& step, const LoopStep& loop) {
        if (loop.in_one_kernel) all.push_back(&step);
        return !loop.in_one_kernel;
    });
    return all;
}

GeneratedKernel generate(const Program& program, const Step& loop) {
    return LoopWriter(program).generate(loop);
}

LaunchShape launch_of(const Program& program, const LoopStep& loop) {
    LaunchShape shape;
    for_each_kernel(loop.body, [&](const Kernel& kernel) {
        if (!is_generated(kernel)) return;
        const LaunchShape of_kernel = launch_of(kernel);
        shape.grid_x = std::max(shape.grid_x, of_kernel.grid_x * of_kernel.grid_y);
    });
    shape.block_y = threads_down;
    // Pointers, and 16 bytes for each scalar.
    shape.shared_bytes = shared_before(loop) + 16;
    for (const Symbol& symbol : program.symbols) {
        shape.shared_bytes += index_t{sizeof(void*)} + (symbol.type.is_scalar() ? 16 : 0);
    }
    return shape;
}

index_t sums_of(const LoopStep& loop) {
    index_t most = 0;
    for_each_kernel(loop.body, [&](const Kernel& kernel) {
        if (is_generated(kernel)) most = std::max(most, sums_of(kernel, Target::device));
    });
    return 2 * most;
}

}  // namespace aperture::compose
