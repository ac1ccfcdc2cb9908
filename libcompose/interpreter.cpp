// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/interpreter.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "libcompose/kernel_builder.hpp"
#include "libcompose/kernels/arguments.hpp"
#include "libcompose/launch_shape.hpp"
#include "libcompose/operations/bodies.cuh"

namespace aperture::compose {
namespace {

using kernels::lanes;
using kernels::piece_length;
using kernels::strip_rows;
using kernels::SumNumber;
using kernels::Walk;

constexpr std::size_t largest_number = 16;

/// From `column` of a row of the walk on, at most a piece.
RowPiece piece_at(const Walk& walk, index_t row, index_t column) {
    const index_t end = walk.row_length(row);
    const int length = static_cast<int>(std::min<index_t>(piece_length, end - column));
    if (walk.rows_of_plane == 0) return {0, 0, row * walk.columns + column, length};
    return {row / walk.rows_of_plane, row % walk.rows_of_plane, column, length};
}

/// One piece of each register and broadcast scalar: they lie in the first cache.
class Scratch {
  public:
    explicit Scratch(std::size_t symbols) : numbers_(symbols * bytes_of_piece) {}
    void* of(SymbolId id) {
        return numbers_.data() + static_cast<std::size_t>(id) * bytes_of_piece;
    }

  private:
    static constexpr std::size_t bytes_of_piece = piece_length * largest_number;
    std::vector<unsigned char> numbers_;
};

void broadcast(const void* number, int bytes, void* to) {
    for (std::size_t i = 0; i < std::size_t(piece_length); ++i) {
        std::memcpy(static_cast<unsigned char*>(to) + i * std::size_t(bytes), number,
                    std::size_t(bytes));
    }
}

/// 32 numbers of a sum's type.
using LaneNumbers = std::array<SumNumber, lanes>;

/// The sums of lanes, strips and all of one call, whose numbers are of type T.
template <class T, class Combine>
struct SumsOf {
    using Lanes = bodies::LaneSums<T, Combine, lanes>;

    static void clear(LaneNumbers& numbers) {
        std::fill_n(reinterpret_cast<T*>(numbers.data()), lanes, Combine::template none<T>());
    }
    static void clear_strip(SumNumber& strip) { strip.set(Combine::template none<T>()); }
    static void add_piece(const LaneNumbers& piece, SumNumber& strip) {
        Lanes sums;
        std::memcpy(sums.values, piece.data(), sizeof(sums.values));
        strip.set(Combine::of(strip.as<T>(), sums.total()));
    }
    /// Adds neighbours among the strips of a group; the sum of group i is then at i.
    static void add_groups(std::vector<SumNumber>& strips) {
        constexpr auto of_group = std::size_t(kernels::strips_of_group);
        for (std::size_t apart = 1; apart < of_group; apart *= 2) {
            for (std::size_t i = 0; i + apart < strips.size(); i += 2 * apart) {
                strips[i].set(Combine::of(strips[i].as<T>(), strips[i + apart].as<T>()));
            }
        }
        for (std::size_t i = 0; i < strips.size(); i += of_group) strips[i / of_group] = strips[i];
        strips.resize((strips.size() + of_group - 1) / of_group);
    }
    static void add_strips(const std::vector<SumNumber>& strips, void* result) {
        Lanes sums;
        for (std::size_t i = 0; i < strips.size(); ++i) {
            sums.add(static_cast<int>(i % lanes), strips[i].as<T>());
        }
        const T total = sums.total();
        std::memcpy(result, &total, sizeof(total));
    }
};

/// A thread's registers and workspaces of a kernel of batches: problems of symbols, then of calls.
class ProblemScratch {
  public:
    ProblemScratch(const Program& program, const Kernel& kernel)
        : registers_(program.symbols.size()), workspaces_(kernel.calls.size()) {
        for (const SymbolId id : kernel.registers) {
            registers_[std::size_t(id)].resize(bytes_of_problem(program[id].type));
        }
        for (std::size_t i = 0; i < kernel.calls.size(); ++i) {
            workspaces_[i].resize(bytes_of_problem(kernel.calls[i].match.workspace));
        }
    }
    static std::size_t bytes_of_problem(const Type& type) {
        return type.kind == Kind::batch
                   ? std::size_t(type.numbers_of_problem() * bytes_of(type.dtype))
                   : 0;
    }
    void* of(SymbolId id) { return registers_[std::size_t(id)].data(); }
    void* of_call(std::size_t i) { return workspaces_[i].data(); }

  private:
    // Complex numbers of 16 bytes are aligned: memory from the heap is.
    std::vector<std::vector<unsigned char>> registers_, workspaces_;
};

struct SumFunctions {
    void (*clear)(LaneNumbers& numbers);
    void (*clear_strip)(SumNumber& strip);
    void (*add_piece)(const LaneNumbers& piece, SumNumber& strip);
    void (*add_groups)(std::vector<SumNumber>& strips);
    void (*add_strips)(const std::vector<SumNumber>& strips, void* result);
};

template <class T, class Combine>
constexpr SumFunctions sum_functions() {
    using Sums = SumsOf<T, Combine>;
    return {Sums::clear, Sums::clear_strip, Sums::add_piece, Sums::add_groups, Sums::add_strips};
}
template <class Combine>
SumFunctions ordered_functions(Dtype dtype) {
    switch (dtype) {
        case Dtype::f32:
            return sum_functions<float, Combine>();
        case Dtype::f64:
            return sum_functions<double, Combine>();
        default:
            return sum_functions<long long, Combine>();
    }
}
SumFunctions functions_of(Combination combination, Dtype dtype) {
    if (combination == Combination::greatest) return ordered_functions<bodies::GreatestOf>(dtype);
    if (combination == Combination::least) return ordered_functions<bodies::LeastOf>(dtype);
    if (dtype == Dtype::c64) return sum_functions<core::Complex<float>, bodies::SumOf>();
    if (dtype == Dtype::c128) return sum_functions<core::Complex<double>, bodies::SumOf>();
    return ordered_functions<bodies::SumOf>(dtype);
}

}  // namespace

struct InterpretedKernel::State {
    State(const Program& of_program, const Kernel& of_kernel)
        : program(of_program), kernel(of_kernel), walk(walk_over(of_kernel.elements)) {
        for (const PlannedCall& planned : kernel.calls) {
            const Level level = planned.match.level;
            const CallSite site{program, *planned.call};
            calls.push_back(
                {planned.operation.get(), site, planned.operation->row_function(site), level,
                 level != Level::sum && planned.match.results[0].is_scalar(),
                 functions_of(planned.match.combination, planned.match.results[0].dtype)});
        }
        in_register.resize(program.symbols.size());
        for (const SymbolId id : kernel.registers) in_register[std::size_t(id)] = true;
        // What is read before it is overwritten stays in its memory.
        for (const SymbolId id : kernel.loads) in_register[std::size_t(id)] = false;
        strip_sums.resize(calls.size(), std::vector<SumNumber>(std::size_t(walk.strips())));
        if (is_of_rows(kernel)) prepare_rows();
        if (!kernel.parts.empty()) prepare_calls();
    }

    struct PreparedCall {
        const Operation* operation;
        CallSite site;
        RowFunction compute;
        Level level;
        bool of_scalars;
        SumFunctions sum;
    };
    /// What is computed of a piece: all; the first part of a kernel that reads rows twice, which
    /// stores nothing; or the second one.
    enum class Part { all, first, second };

    void* memory(SymbolId id) const {
        void* const found = symbols[std::size_t(id)];
        return found != nullptr || vectors.empty() ? found : vector_of(id);
    }
    void* vector_of(SymbolId id) const {
        const auto& of = vectors[std::size_t(id)];
        return of.empty() ? nullptr : const_cast<SumNumber*>(of.data());
    }

    void prepare_rows() {
        parts = line_parts(kernel);
        vectors.resize(program.symbols.size());
        columns.resize(calls.size());
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (calls[i].level == Level::column)
                columns[i].resize(std::size_t(walk.row_strips() * walk.columns));
        }
        for (const SymbolId id : kernel.registers) {
            const Type& type = program[id].type;
            if (type.is_scalar() || type.rank != 1) continue;
            vectors[std::size_t(id)].resize(std::size_t(type.size()));
            in_register[std::size_t(id)] = false;
        }
    }

    /// What neighbours read is made in memory of the kernel's own, and so call by call.
    void prepare_calls() {
        vectors.resize(program.symbols.size());
        for (const SymbolId id : kernel.registers) {
            vectors[std::size_t(id)].resize(
                std::size_t(program[id].type.bytes()) / sizeof(SumNumber) + 1);
        }
        for (const PlannedCall& planned : kernel.calls) {
            KernelBuilder builder(program, Fusion::none);
            builder.add(planned);
            const std::vector<SymbolId>& results = planned.call->results;
            one_by_one.push_back(builder.finish({results.begin(), results.end()}));
        }
        for (const Kernel& one : one_by_one) interpreted.emplace_back(program, one);
    }
    void run_calls(core::Cpu& cpu) {
        std::vector<void*> memory_of;
        for (std::size_t i = 0; i < vectors.size(); ++i) memory_of.push_back(memory(SymbolId(i)));
        for (InterpretedKernel& one : interpreted) one.run(cpu, memory_of.data());
    }

    /// Nothing in a kernel is scalar that arrays of the same kernel determine.
    void compute_scalars() const {
        for (const PreparedCall& call : calls) {
            if (!call.of_scalars) continue;
            std::vector<RowOperand> operands;
            std::vector<void*> results;
            for (const SymbolId id : call.site.call.operands) {
                operands.push_back({memory(id), nullptr, program[id].type});
            }
            for (const SymbolId id : call.site.call.results) results.push_back(memory(id));
            call.compute({0, 0, 0, 1}, operands, results);
        }
    }

    void broadcast_scalars(Scratch& scratch) const {
        for (const PreparedCall& call : calls) {
            for (const SymbolId id : call.site.call.operands) {
                const Type& type = program[id].type;
                if (type.is_scalar()) broadcast(memory(id), bytes_of(type.dtype), scratch.of(id));
            }
        }
    }

    void compute_strip(index_t strip, Scratch& scratch) {
        const index_t end = std::min((strip + 1) * strip_rows, walk.rows);
        for (std::size_t i = 0; i < calls.size(); ++i) {
            calls[i].sum.clear_strip(strip_sums[i][std::size_t(strip)]);
        }
        std::vector<LaneNumbers> sums(calls.size());
        for (index_t row = strip * strip_rows; row < end; ++row) {
            for (index_t column = 0; column < walk.row_length(row); column += piece_length) {
                for (std::size_t i = 0; i < calls.size(); ++i) calls[i].sum.clear(sums[i]);
                compute_piece(row, column, scratch, sums);
                for (std::size_t i = 0; i < calls.size(); ++i) {
                    if (calls[i].level != Level::sum) continue;
                    calls[i].sum.add_piece(sums[i], strip_sums[i][std::size_t(strip)]);
                }
            }
        }
    }

    /// Rows of a strip that are added up, or whose columns are.
    void compute_lines(index_t strip, Scratch& scratch) {
        const index_t end = std::min((strip + 1) * kernels::row_strip, walk.rows);
        const bool in_parts = is_in_parts(kernel);
        std::vector<LaneNumbers> sums(calls.size());
        std::vector<std::vector<SumNumber>> pieces(
            calls.size(), std::vector<SumNumber>(std::size_t(walk.pieces_of_row())));
        for (index_t row = strip * kernels::row_strip; row < end; ++row) {
            for (index_t piece = 0; piece < walk.pieces_of_row(); ++piece) {
                for (std::size_t i = 0; i < calls.size(); ++i) calls[i].sum.clear(sums[i]);
                compute_piece(row, piece * piece_length, scratch, sums,
                              in_parts ? Part::first : Part::all);
                for (std::size_t i = 0; i < calls.size(); ++i) {
                    SumNumber& total = pieces[i][std::size_t(piece)];
                    calls[i].sum.clear_strip(total);
                    calls[i].sum.add_piece(sums[i], total);
                }
            }
            for (std::size_t i = 0; i < calls.size(); ++i) {
                if (parts[i] == LinePart::of_row) compute_entry(i, row);
                if (calls[i].level != Level::row) continue;
                calls[i].sum.add_strips(pieces[i], entry(calls[i].site.call.results[0], row));
            }
            for (index_t piece = 0; in_parts && piece < walk.pieces_of_row(); ++piece) {
                compute_piece(row, piece * piece_length, scratch, sums, Part::second);
            }
        }
    }
    void* entry(SymbolId id, index_t i) const {
        return static_cast<unsigned char*>(memory(id)) +
               std::size_t(i) * std::size_t(bytes_of(program[id].type.dtype));
    }
    void store_columns() const {
        std::vector<SumNumber> strips;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const bool of_column = !parts.empty() && parts[i] == LinePart::of_column;
            for (index_t column = 0; of_column && column < walk.columns; ++column) {
                compute_entry(i, column);
            }
            if (calls[i].level != Level::column) continue;
            const SymbolId id = calls[i].site.call.results[0];
            const auto bytes = std::size_t(bytes_of(program[id].type.dtype));
            for (index_t column = 0; column < walk.columns; ++column) {
                strips.resize(std::size_t(walk.row_strips()));
                for (std::size_t strip = 0; strip < strips.size(); ++strip) {
                    std::memcpy(&strips[strip], column_sums(i, index_t(strip), column), bytes);
                }
                calls[i].sum.add_groups(strips);
                calls[i].sum.add_strips(strips, entry(id, column));
            }
        }
    }
    /// A call's entry of vectors.
    void compute_entry(std::size_t call, index_t i) const {
        const Call& of = calls[call].site.call;
        std::array<RowOperand, most_operands> operands;
        std::array<void*, most_operands> results{};
        for (std::size_t k = 0; k < of.operands.size(); ++k) {
            const SymbolId id = of.operands[k];
            const Type& type = program[id].type;
            operands[k] = {type.is_scalar() ? memory(id) : entry(id, i), memory(id), type};
        }
        for (std::size_t k = 0; k < of.results.size(); ++k) results[k] = entry(of.results[k], i);
        calls[call].compute({0, 0, i, 1}, std::span(operands).first(of.operands.size()),
                            std::span(results).first(of.results.size()));
    }
    unsigned char* column_sums(std::size_t call, index_t strip, index_t column) const {
        const Type& type = program[calls[call].site.call.results[0]].type;
        return reinterpret_cast<unsigned char*>(const_cast<SumNumber*>(columns[call].data())) +
               std::size_t((strip * walk.columns + column) * bytes_of(type.dtype));
    }

    bool is_of_line(std::size_t call) const {
        return !parts.empty() &&
               (parts[call] == LinePart::of_row || parts[call] == LinePart::of_column);
    }
    void compute_piece(index_t row, index_t column, Scratch& scratch,
                       std::vector<LaneNumbers>& sums, Part part = Part::all) const {
        const RowPiece piece = piece_at(walk, row, column);
        const auto place = std::size_t(row * walk.columns + column);
        std::vector<bool> in_scratch(part == Part::first ? in_register.size() : 0);
        const auto here = [&](SymbolId id) -> void* {
            const Type& type = program[id].type;
            if (type.is_scalar() || in_register[std::size_t(id)]) return scratch.of(id);
            if (!in_scratch.empty() && in_scratch[std::size_t(id)]) return scratch.of(id);
            if (memory(id) == nullptr) return nullptr;
            return static_cast<unsigned char*>(memory(id)) +
                   place * std::size_t(bytes_of(type.dtype));
        };
        std::array<RowOperand, most_operands> operands;
        std::array<void*, most_operands> results{};
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const PreparedCall& call = calls[i];
            if (call.of_scalars || is_of_line(i)) continue;
            if (part == Part::first && parts[i] == LinePart::second) continue;
            if (part == Part::second && call.level == Level::row) continue;
            const Call& of = call.site.call;
            for (std::size_t k = 0; k < of.operands.size(); ++k) {
                const SymbolId id = of.operands[k];
                operands[k] = {here(id), memory(id), program[id].type};
            }
            for (std::size_t k = 0; k < of.results.size(); ++k) {
                const SymbolId id = of.results[k];
                if (call.level == Level::element) {
                    if (part == Part::first) in_scratch[std::size_t(id)] = true;
                    results[k] = here(id);
                } else if (call.level == Level::column) {
                    results[k] = column_sums(i, row / kernels::row_strip, column);
                } else {
                    results[k] = sums[i].data();
                }
            }
            call.compute(piece, std::span(operands).first(of.operands.size()),
                         std::span(results).first(of.results.size()));
        }
    }

    void compute_problem(index_t problem, ProblemScratch& scratch) const {
        const auto here = [&](SymbolId id) -> void* {
            const Type& type = program[id].type;
            if (type.kind != Kind::batch) return memory(id);
            if (in_register[std::size_t(id)]) return scratch.of(id);
            return static_cast<unsigned char*>(memory(id)) +
                   std::size_t(problem) * ProblemScratch::bytes_of_problem(type);
        };
        std::array<const void*, most_operands> operands;
        std::array<void*, most_operands> results;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (calls[i].of_scalars) continue;
            const Call& call = calls[i].site.call;
            for (std::size_t k = 0; k < call.operands.size(); ++k) {
                operands[k] = here(call.operands[k]);
            }
            for (std::size_t k = 0; k < call.results.size(); ++k) {
                results[k] = here(call.results[k]);
            }
            calls[i].operation->compute_problem(
                calls[i].site, std::span(operands).first(call.operands.size()),
                std::span(results).first(call.results.size()), scratch.of_call(i));
        }
    }

    void store_sums() const {
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (calls[i].level != Level::sum) continue;
            calls[i].sum.add_strips(strip_sums[i], memory(calls[i].site.call.results[0]));
        }
    }

    const Program& program;
    const Kernel& kernel;
    Walk walk;
    std::vector<PreparedCall> calls;
    std::vector<bool> in_register;
    std::vector<std::vector<SumNumber>> strip_sums;
    std::vector<std::vector<SumNumber>> vectors;  // by symbols: what lives in the kernel alone
    // Of kernels that add up rows or columns.
    std::vector<LinePart> parts;
    std::vector<std::vector<SumNumber>> columns;  // by calls: [strip][column]
    void* const* symbols = nullptr;
    // Of kernels with tiles.
    std::vector<Kernel> one_by_one;
    std::vector<InterpretedKernel> interpreted;
};

InterpretedKernel::InterpretedKernel(const Program& program, const Kernel& kernel)
    : state_(std::make_unique<State>(program, kernel)) {}
InterpretedKernel::~InterpretedKernel() = default;
InterpretedKernel::InterpretedKernel(InterpretedKernel&&) noexcept = default;

void InterpretedKernel::run(core::Cpu& cpu, void* const* symbols) {
    run(cpu, symbols, walk_over(state_->kernel.elements));
}

void InterpretedKernel::run(core::Cpu& cpu, void* const* symbols, const Walk& walk) {
    State& state = *state_;
    state.symbols = symbols;
    state.walk = walk;
    if (!state.interpreted.empty()) return state.run_calls(cpu);
    state.compute_scalars();
    for (auto& sums : state.columns) std::fill(sums.begin(), sums.end(), SumNumber{});
    if (state.kernel.elements.rank == 0) return;
    if (is_of_batches(state.kernel)) {
#pragma omp parallel num_threads(threads_for(work_of(state.kernel), cpu))
        {
            ProblemScratch scratch(state.program, state.kernel);
#pragma omp for schedule(static)
            for (index_t problem = 0; problem < state.walk.count; ++problem) {
                state.compute_problem(problem, scratch);
            }
        }
        return;
    }
#pragma omp parallel num_threads(threads_for(work_of(state.kernel), cpu))
    {
        Scratch scratch(state.program.symbols.size());
        state.broadcast_scalars(scratch);
        const bool of_rows = is_of_rows(state.kernel);
        const index_t strips = of_rows ? state.walk.row_strips() : state.walk.strips();
#pragma omp for schedule(static)
        for (index_t strip = 0; strip < strips; ++strip) {
            if (of_rows) {
                state.compute_lines(strip, scratch);
            } else {
                state.compute_strip(strip, scratch);
            }
        }
    }
    state.store_sums();
    state.store_columns();
}

}  // namespace aperture::compose
