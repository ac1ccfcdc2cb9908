// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/lane_steps.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "tests/compose/program_memory.hpp"
#include "tests/compose/simt_executable.hpp"
#include "tests/compose/swept_programs.hpp"

namespace aperture::compose {
namespace {

/// Memory of values that the SIMT executor computes side by side, as LaneSteps sees it.
class SimtGrid {
  public:
    SimtGrid(const SimtExecutable& executable, std::deque<HostMemory>& memories)
        : executable_(executable), memories_(memories), flags_(memories.size()) {
        for (HostMemory& memory : memories) order_.push_back(&memory);
    }
    void run(const Kernel& kernel, index_t first, index_t end) {
        std::vector<void* const*> rows;
        for (index_t place = first; place < end; ++place) {
            HostMemory& memory = *order_[std::size_t(place)];
            if (kernel.exchanges) memory.exchange(kernel);
            rows.push_back(memory.symbols());
        }
        if (!kernel.exchanges) executable_.launch(simt_, kernel, rows);
    }
    void store(SymbolId variable, std::int64_t i, index_t first, index_t end) const {
        for (index_t place = first; place < end; ++place) {
            order_[std::size_t(place)]->store(variable, i);
        }
    }
    Flags flags(SymbolId condition, index_t first, index_t end) {
        for (index_t place = first; place < end; ++place) {
            const bool holds = order_[std::size_t(place)]->load<bool>(condition);
            flags_[std::size_t(place)] = std::byte{holds};
        }
        return {flags_.data(), 1};
    }
    void swap(std::span<const index_t> back, std::span<const index_t> front) {
        for (std::size_t i = 0; i < back.size(); ++i) {
            std::swap(order_[std::size_t(back[i])], order_[std::size_t(front[i])]);
        }
    }

  private:
    core::Simt simt_;
    const SimtExecutable& executable_;
    std::deque<HostMemory>& memories_;
    std::vector<HostMemory*> order_;
    std::vector<std::byte> flags_;
};

/// Runs of a program for several values, with the bits of the interpreter's.
void expect_single_runs_on_a_device(const Program& program, std::size_t values,
                                    const std::string& what) {
    const SimtExecutable executable(plan(program, Registry(), Fusion::thesis));
    ASSERT_EQ(executable.reason, "");
    std::deque<ProgramMemory> found, expected;
    std::deque<HostMemory> memories;
    core::Cpu cpu(1);
    Executable<core::Cpu> interpreted(cpu, plan(program, Registry(), Fusion::thesis),
                                      Tier::interpreted);
    for (unsigned seed = 0; seed < values; ++seed) {
        found.emplace_back(program, seed);
        memories.emplace_back(executable.plan());
        memories.back().bind(found.back().arguments(), found.back().results());
        expected.emplace_back(program, seed);
        interpreted.run(cpu, expected.back().arguments(), expected.back().results());
    }
    SimtGrid grid(executable, memories);
    LaneSteps steps(program, grid, index_t(values));
    steps.walk(executable.plan().steps, 0, index_t(values));
    for (std::size_t i = 0; i < values; ++i) {
        memories[i].finish(found[i].results());
        EXPECT_EQ(found[i].bits(), expected[i].bits()) << what << ", value " << i;
    }
}

TEST(ComposeSweep, ADeviceRunsValuesSideBySide) {
    const std::string images = swept_random_program(3);
    expect_single_runs_on_a_device(parse(images), 3, images);
    // Values go their own ways, by scalars, images and sums, with exchanges of memory.
    const std::string text = RandomNumbers(23, 2).text();
    expect_single_runs_on_a_device(parse(text), kernels::most_values, text);
    expect_single_runs_on_a_device(
        parse("program shrinks { input a: array f32[9, 40]; input p: scalar f32;"
              "number half: f32 = 0.5; number tiny: f32 = 0.01; constant n = 5;"
              "local i: iteration i64; local x: array f32[9, 40]; local y: array f32[9, 40];"
              "local q: scalar f32; local c: scalar bool; local r: array f32[9];"
              "stencil S: f32 replicate {(0, -1): 0.4, (1, 0): 0.4};"
              "x = multiply(p, a); q = abs(p); c = less(tiny, q); while c limit 20 {"
              "y = stencil_product(S, x); q = multiply(q, half); x = copy(y); c = less(tiny, q); }"
              "for i in n { c = less(q, p); if c { y = stencil_product(S, x); x = copy(y); break; }"
              "y = add(x, a); x = copy(y); } q = sum(x); r = row_sums(x); return x, q, r; }"),
        5, "shrinks");
}

}  // namespace
}  // namespace aperture::compose
