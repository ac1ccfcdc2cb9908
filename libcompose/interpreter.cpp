// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/interpreter.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "aperture/core/error.hpp"

namespace aperture::compose {
namespace {

/// Entries that an operation computes at a time: those of a kernel's registers lie in the first
/// cache. A multiple of `lanes`.
constexpr int piece_length = 256;
/// Sums are those of rows, column c in lane c mod 32, and of strips of 32 rows, whatever computes
/// them. Rows of vectors have 4,096 entries.
constexpr int lanes = 32;
constexpr index_t strip_rows = 32;
constexpr index_t vector_row = 4096;

constexpr std::size_t largest_number = 16;

/// The rows of a kernel's elements.
struct Rows {
    explicit Rows(const Type& elements) {
        if (elements.rank == 0) return;
        const auto rank = static_cast<std::size_t>(elements.rank);
        all = elements.size();
        columns =
            rank == 1 ? std::min(vector_row, std::max<index_t>(all, 1)) : elements.extent[rank - 1];
        rows_of_plane = rank == 3 ? elements.extent[1] : rank == 2 ? elements.extent[0] : 0;
        is_vector = rank == 1;
        count = columns == 0 ? 0 : (all + columns - 1) / columns;
    }
    /// From `column` on, at most a piece.
    RowPiece piece(index_t row, index_t column) const {
        const index_t end = std::min(columns, all - row * columns);
        const int length = static_cast<int>(std::min<index_t>(piece_length, end - column));
        if (is_vector) return {0, 0, row * columns + column, length};
        return {row / rows_of_plane, row % rows_of_plane, column, length};
    }
    index_t all = 0, columns = 0, rows_of_plane = 0, count = 0;
    bool is_vector = false;
};

/// The sum of 32 lanes: halves are added to halves.
template <class T>
T sum_of_lanes(std::array<T, lanes>& sums) {
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
}

/// Of the sums of strips.
template <class T>
T sum_of_strips(const std::vector<double>& strips) {
    std::array<T, lanes> sums{};
    for (std::size_t i = 0; i < strips.size(); ++i) sums[i % lanes] += static_cast<T>(strips[i]);
    return sum_of_lanes(sums);
}

/// One piece of each register and broadcast scalar.
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

}  // namespace

struct Interpreter::State {
    State(const Plan& of_plan, const Registry& of_registry)
        : plan(of_plan), program(*of_plan.program), registry(of_registry) {
        memory.resize(program.symbols.size());
        local.resize(program.symbols.size());
        for (std::size_t i = 0; i < program.symbols.size(); ++i) set_known(i);
    }

    void set_known(std::size_t i) {
        const Symbol& symbol = program.symbols[i];
        const bool number = symbol.type.is_scalar();
        if (symbol.source == Source::local || number) {
            local[i].resize(number ? largest_number : std::size_t(symbol.type.bytes()));
            memory[i] = local[i].data();
        }
        if (symbol.type.kind == Kind::constant) store<std::int64_t>(i, symbol.value);
        if (symbol.source != Source::known || symbol.type.kind != Kind::scalar) return;
        if (symbol.type.dtype == Dtype::f32) store(i, static_cast<float>(symbol.number));
        if (symbol.type.dtype == Dtype::f64) store(i, symbol.number);
    }
    template <class T>
    void store(std::size_t i, T value) {
        std::memcpy(local[i].data(), &value, sizeof(value));
    }
    template <class T>
    T load(SymbolId id) const {
        T value{};
        std::memcpy(&value, memory[std::size_t(id)], sizeof(value));
        return value;
    }

    void bind(const Arguments& arguments) {
        for (std::size_t i = 0; i < program.symbols.size(); ++i) {
            const Symbol& symbol = program.symbols[i];
            if (symbol.source != Source::input && symbol.source != Source::in_place) continue;
            const auto found = arguments.find(symbol.name);
            core::expects(found != arguments.end(), "there is no argument ", symbol.name);
            core::expects(found->second.type == symbol.type, symbol.name, " is of type ",
                          text_of(found->second.type), ", not a ", text_of(symbol.type));
            core::expects(found->second.data != nullptr || symbol.type.size() == 0, symbol.name,
                          " has no memory");
            memory[i] = found->second.data;
        }
    }

    /// False after a break.
    bool run(core::Cpu& cpu, const std::vector<Step>& steps) {
        return std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
            return std::visit([&](const auto& what) { return run(cpu, what); }, step.what);
        });
    }
    bool run(core::Cpu& cpu, const Repeat& repeat) {
        const std::int64_t count = program[repeat.loop->count].value;
        for (std::int64_t i = 0; i < count; ++i) {
            store(std::size_t(repeat.loop->variable), i);
            if (!run(cpu, repeat.body)) break;
        }
        return true;
    }
    bool run(core::Cpu& cpu, const RepeatWhile& repeat) {
        std::int64_t times = 0;
        while (load<bool>(repeat.loop->condition)) {
            core::expects(times++ < repeat.loop->limit, "a loop did not end after ",
                          repeat.loop->limit, " times");
            if (!run(cpu, repeat.body)) break;
        }
        return true;
    }
    bool run(core::Cpu& cpu, const Branch& branch) {
        return run(cpu, load<bool>(branch.branch->condition) ? branch.body : branch.otherwise);
    }
    bool run(core::Cpu&, const Break&) { return false; }
    bool run(core::Cpu& cpu, const Kernel& kernel);

    const Plan& plan;
    const Program& program;
    const Registry& registry;
    std::vector<void*> memory;
    std::vector<std::vector<unsigned char>> local;
};

namespace {

/// One kernel: scalars once, then all calls on a piece of a row, strips of rows in parallel.
class KernelRun {
  public:
    KernelRun(const Program& program, const Registry& registry, const Kernel& kernel,
              const std::vector<void*>& memory)
        : program_(program), kernel_(kernel), memory_(memory), rows_(kernel.elements) {
        for (std::size_t i = 0; i < kernel.calls.size(); ++i) {
            const Call& call = *kernel.calls[i];
            const bool sums = kernel.matches[i].level == Level::sum;
            calls_.push_back({&registry.find(call.operation),
                              {program, call},
                              sums,
                              !sums && kernel.matches[i].results[0].is_scalar()});
        }
        in_register_.resize(program.symbols.size());
        for (const SymbolId id : kernel.registers) in_register_[std::size_t(id)] = true;
        // What is read before it is overwritten stays in its memory.
        for (const SymbolId id : kernel.loads) in_register_[std::size_t(id)] = false;
        strip_sums_.resize(calls_.size(), std::vector<double>(std::size_t(strips())));
    }

    void run(core::Cpu& cpu) {
        compute_scalars();
        if (kernel_.elements.rank == 0) return;
#pragma omp parallel num_threads(cpu.threads())
        {
            Scratch scratch(program_.symbols.size());
            broadcast_scalars(scratch);
#pragma omp for schedule(static)
            for (index_t strip = 0; strip < strips(); ++strip) compute_strip(strip, scratch);
        }
        store_sums();
    }

  private:
    struct PreparedCall {
        const Operation* operation;
        CallSite site;
        bool sums;
        bool of_scalars;
    };

    index_t strips() const { return (rows_.count + strip_rows - 1) / strip_rows; }
    void* memory(SymbolId id) const { return memory_[std::size_t(id)]; }
    bool is_f32(const PreparedCall& call) const { return call.site.type(0).dtype == Dtype::f32; }

    /// Nothing in a kernel is scalar that arrays of the same kernel determine.
    void compute_scalars() const {
        for (const PreparedCall& call : calls_) {
            if (!call.of_scalars) continue;
            std::vector<RowOperand> operands;
            std::vector<void*> results;
            for (const SymbolId id : call.site.call.operands) {
                operands.push_back({memory(id), nullptr, program_[id].type});
            }
            for (const SymbolId id : call.site.call.results) results.push_back(memory(id));
            call.operation->compute(call.site, {0, 0, 0, 1}, operands, results);
        }
    }

    void broadcast_scalars(Scratch& scratch) const {
        for (const PreparedCall& call : calls_) {
            for (const SymbolId id : call.site.call.operands) {
                const Type& type = program_[id].type;
                if (type.is_scalar()) broadcast(memory(id), bytes_of(type.dtype), scratch.of(id));
            }
        }
    }

    void compute_strip(index_t strip, Scratch& scratch) {
        const index_t end = std::min((strip + 1) * strip_rows, rows_.count);
        // Of f32, too: each is one exactly.
        std::vector<std::array<double, lanes>> sums(calls_.size());
        for (index_t row = strip * strip_rows; row < end; ++row) {
            for (auto& of_call : sums) of_call.fill(0);
            const index_t length = std::min(rows_.columns, rows_.all - row * rows_.columns);
            for (index_t column = 0; column < length; column += piece_length) {
                compute_piece(row, column, scratch, sums);
            }
            for (std::size_t i = 0; i < calls_.size(); ++i) {
                if (calls_[i].sums) add_row(i, strip, sums[i]);
            }
        }
    }
    void add_row(std::size_t i, index_t strip, std::array<double, lanes>& of_row) {
        double& sum = strip_sums_[i][std::size_t(strip)];
        if (is_f32(calls_[i])) {
            auto* const numbers = reinterpret_cast<float*>(of_row.data());
            std::array<float, lanes> row{};
            std::memcpy(row.data(), numbers, sizeof(row));
            sum = static_cast<float>(sum) + sum_of_lanes(row);
        } else {
            sum += sum_of_lanes(of_row);
        }
    }

    void compute_piece(index_t row, index_t column, Scratch& scratch,
                       std::vector<std::array<double, lanes>>& sums) const {
        const RowPiece piece = rows_.piece(row, column);
        const auto place = std::size_t(row * rows_.columns + column);
        const auto here = [&](SymbolId id) -> void* {
            const Type& type = program_[id].type;
            if (type.is_scalar() || in_register_[std::size_t(id)]) return scratch.of(id);
            if (memory(id) == nullptr) return nullptr;
            return static_cast<unsigned char*>(memory(id)) +
                   place * std::size_t(bytes_of(type.dtype));
        };
        std::array<RowOperand, most_operands> operands;
        std::array<void*, most_operands> results{};
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            const PreparedCall& call = calls_[i];
            if (call.of_scalars) continue;
            const Call& of = call.site.call;
            for (std::size_t k = 0; k < of.operands.size(); ++k) {
                const SymbolId id = of.operands[k];
                operands[k] = {here(id), memory(id), program_[id].type};
            }
            for (std::size_t k = 0; k < of.results.size(); ++k) {
                results[k] = call.sums ? sums[i].data() : here(of.results[k]);
            }
            call.operation->compute(call.site, piece, std::span(operands).first(of.operands.size()),
                                    std::span(results).first(of.results.size()));
        }
    }

    void store_sums() const {
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            if (!calls_[i].sums) continue;
            void* const to = memory(calls_[i].site.call.results[0]);
            if (is_f32(calls_[i])) {
                const auto sum = sum_of_strips<float>(strip_sums_[i]);
                std::memcpy(to, &sum, sizeof(sum));
            } else {
                const auto sum = sum_of_strips<double>(strip_sums_[i]);
                std::memcpy(to, &sum, sizeof(sum));
            }
        }
    }

    const Program& program_;
    const Kernel& kernel_;
    const std::vector<void*>& memory_;
    Rows rows_;
    std::vector<PreparedCall> calls_;
    std::vector<bool> in_register_;
    std::vector<std::vector<double>> strip_sums_;
};

}  // namespace

bool Interpreter::State::run(core::Cpu& cpu, const Kernel& kernel) {
    KernelRun(program, registry, kernel, memory).run(cpu);
    return true;
}

Interpreter::Interpreter(const Plan& plan, const Registry& registry)
    : state_(std::make_unique<State>(plan, registry)) {}
Interpreter::~Interpreter() = default;
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;

void Interpreter::run(core::Cpu& cpu, const Arguments& arguments,
                      std::span<const Argument> results) {
    State& state = *state_;
    state.bind(arguments);
    const auto& returned = std::get<Return>(state.program.statements.back().what).values;
    core::expects(results.size() == returned.size(), "the program returns ", returned.size(),
                  " values, not ", results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Symbol& symbol = state.program[returned[i]];
        core::expects(results[i].type == symbol.type, symbol.name, " is of type ",
                      text_of(symbol.type), ", not a ", text_of(results[i].type));
    }
    state.run(cpu, state.plan.steps);
    for (std::size_t i = 0; i < results.size(); ++i) {
        const void* const from = state.memory[std::size_t(returned[i])];
        if (from != results[i].data) {
            std::memcpy(results[i].data, from, std::size_t(results[i].type.bytes()));
        }
    }
}

}  // namespace aperture::compose
