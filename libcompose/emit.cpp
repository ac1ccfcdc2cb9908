// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/emit.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "aperture/core/error.hpp"
#include "libcompose/operations/element_operations.hpp"
#include "libcore/gpu/compile_kernel.hpp"

namespace aperture::compose {

std::span<const core::KernelText> kernel_texts();

namespace {

/// What kernels of a plan share.
struct Preamble {
    std::set<std::string> headers, definitions;
};

/// Writes the struct of one kernel.
class KernelWriter {
  public:
    KernelWriter(const Program& program, const Kernel& kernel, Preamble& preamble)
        : program_(program), kernel_(kernel), preamble_(preamble) {}

    std::string text() {
        if (is_of_batches(kernel_)) add_numbers();
        for (const SymbolId id : kernel_.loads) load_scalar(id);
        for (const PlannedCall& planned : kernel_.calls) add(planned);
        for (const SymbolId id : kernel_.stores) store(id);
        return is_of_batches(kernel_) ? of_problems() : of_elements();
    }

  private:
    std::string head() const {
        const std::string name = core::text("Kernel_", kernel_.number);
        return core::text(members_, "    APERTURE_HD explicit ", name, "(void* const* symbols) {\n",
                          scalars_,
                          "        (void)symbols;\n    }\n"
                          "    APERTURE_HD void store_scalars(void* const* symbols) const {\n",
                          scalar_stores_, "        (void)symbols;\n    }\n");
    }
    std::string of_elements() const {
        const std::string name = core::text("Kernel_", kernel_.number);
        return core::text(
            "struct ", name, " {\n", "    static constexpr long long left = ", left_,
            ", right = ", right_, ";\n    static constexpr int sums = ", sums_,
            ";\n    template <int lanes>\n    struct Sums {\n", sum_members_,
            "        template <class Other, class Action>\n"
            "        APERTURE_HD void each(Other& other, const Action& action) {\n",
            sum_visits_, "            (void)other, (void)action;\n        }\n    };\n", head(),
            "    template <class Place, class Sums>\n"
            "    [[gnu::always_inline]] APERTURE_HD void element(const Place& at, Sums& sums) "
            "const {\n",
            loads_, calls_, stores_, "        (void)at, (void)sums;\n    }\n",
            "    template <class Sums>\n"
            "    APERTURE_HD void store_sums(void* const* symbols, const Sums& sums) const {\n",
            sum_stores_, "        (void)symbols, (void)sums;\n    }\n};\n");
    }
    std::string of_problems() const {
        const auto function = [](const char* name, const std::string& body) {
            return core::text("    template <class On>\n    APERTURE_HD void ", name,
                              "(const On& on, Chip<On>& chip) const {\n", body,
                              "        (void)on, (void)chip;\n    }\n");
        };
        return core::text("struct Kernel_", kernel_.number, " {\n    using Real = ", real_, ";\n",
                          "    template <class On>\n    struct Chip {\n", numbers_, "    };\n",
                          head(), function("load", loads_),
                          function("compute", core::text("        const auto group = on.group();\n",
                                                         views_, calls_)),
                          function("store", stores_), "};\n");
    }

    /// What is on chip, and the views of all calls.
    void add_numbers() {
        int workspaces = 0;
        for (const auto& [id, type] : kernel_.on_chip) {
            const Dtype dtype = type.dtype;
            const std::string name = id >= 0 ? core::text("b", id, "_", program_[id].name)
                                             : core::text("work", workspaces++);
            if (id >= 0) names_[id] = name;
            numbers_ += core::text("        typename On::template Numbers<", cpp_type(dtype), ", ",
                                   type.numbers_of_problem(), "> ", name, ";\n");
            views_ += core::text("        const auto ", name, " = on.template view<", type.rows(),
                                 ", ", type.columns(), ">(chip.", name, ");\n");
            const std::string real(
                dtype == Dtype::i64 || dtype == Dtype::boolean ? "void" : cpp_type(real_of(dtype)));
            real_ = real_.empty() || real_ == real ? real : "void";
        }
        for (const SymbolId id : kernel_.loads) {
            if (type(id).kind != Kind::batch) continue;
            loads_ += core::text("        on.load(", pointer(id), ", chip.", names_.at(id), ");\n");
        }
    }
    /// The operation's expression, on views of what is on chip.
    void add_block(const PlannedCall& planned) {
        const Call& call = *planned.call;
        std::vector<std::string> operands, results;
        for (const SymbolId id : call.operands) operands.push_back(operand(id, {}));
        for (const SymbolId id : call.results) results.push_back(names_.at(id));
        if (planned.match.workspace.kind == Kind::batch) {
            operands.push_back(core::text("work", workspaces_++));
        }
        const Code code = planned.operation->code({program_, call}, operands, results);
        if (!code.definitions.empty()) preamble_.definitions.insert(code.definitions);
        calls_ += core::text("        ", code.expression, ";\n        group.sync();\n");
    }

    const Type& type(SymbolId id) const { return program_[id].type; }

    std::string cast(SymbolId id, bool constant) const {
        return core::text("static_cast<", constant ? "const " : "", cpp_type(type(id).dtype),
                          "*>(symbols[", id, "])");
    }
    /// The next variable of a symbol's values.
    std::string next_name(SymbolId id) {
        return names_[id] = core::text("v", id, "_", program_[id].name, "_", versions_[id]++);
    }
    void add_member(SymbolId id, const std::string& name) {
        members_ += core::text("    ", cpp_type(type(id).dtype), " ", name, ";\n");
    }

    void load_scalar(SymbolId id) {
        if (!type(id).is_scalar()) return;
        const std::string name = next_name(id);
        add_member(id, name);
        scalars_ += core::text("        ", name, " = *", cast(id, true), ";\n");
    }

    /// The member that points to an array.
    std::string pointer(SymbolId id) {
        const bool written = std::count(kernel_.stores.begin(), kernel_.stores.end(), id) > 0;
        const std::string name = core::text("p", id, "_", program_[id].name);
        if (pointers_.insert(id).second) {
            members_ += core::text("    ", written ? "" : "const ", cpp_type(type(id).dtype), "* ",
                                   name, ";\n");
            scalars_ += core::text("        ", name, " = ", cast(id, !written), ";\n");
        }
        return name;
    }

    std::string operand(SymbolId id, const Access& access) {
        const Symbol& symbol = program_[id];
        if (symbol.type.kind == Kind::stencil) return symbol.name;
        if (symbol.type.kind == Kind::constant) return core::text(symbol.value, "LL");
        if (symbol.source == Source::known && symbol.type.is_scalar()) {
            return literal(symbol.type.dtype, symbol.number);
        }
        if (access.kind != Access::Kind::point) return pointer(id);
        const auto found = names_.find(id);
        if (found != names_.end()) return found->second;
        const std::string from = pointer(id), name = next_name(id);
        loads_ += core::text("        const ", cpp_type(symbol.type.dtype), " ", name, " = ", from,
                             "[at.here];\n");
        return name;
    }

    void add(const PlannedCall& planned) {
        if (planned.match.level == Level::block) return add_block(planned);
        const Call& call = *planned.call;
        const CallSite site{program_, call};
        std::vector<std::string> operands, results;
        for (std::size_t i = 0; i < call.operands.size(); ++i) {
            const Access& access = planned.match.accesses[i];
            operands.push_back(operand(call.operands[i], access));
            if (access.kind != Access::Kind::halo) continue;
            left_ = std::max(left_, access.left);
            right_ = std::max(right_, access.right);
        }
        const bool sums = planned.match.level == Level::sum;
        const bool scalars = !sums && planned.match.results[0].is_scalar();
        if (!sums) {
            for (const SymbolId id : call.results) results.push_back(next_name(id));
        }
        const Code code = planned.operation->code(site, operands, results);
        if (!code.definitions.empty()) preamble_.definitions.insert(code.definitions);
        preamble_.headers.insert(code.headers.begin(), code.headers.end());
        if (sums) {
            add_sum(call.results[0], planned.match.combination, code.expression);
        } else if (scalars) {
            for (std::size_t i = 0; i < results.size(); ++i)
                add_member(call.results[i], results[i]);
            scalars_ += results.size() == 1
                            ? core::text("        ", results[0], " = ", code.expression, ";\n")
                            : core::text("        ", code.expression, ";\n");
        } else if (results.size() == 1) {
            calls_ += core::text("        const ", cpp_type(type(call.results[0]).dtype), " ",
                                 results[0], " = ", code.expression, ";\n");
        } else {
            for (std::size_t i = 0; i < results.size(); ++i) {
                calls_ += core::text("        ", cpp_type(type(call.results[i]).dtype), " ",
                                     results[i], ";\n");
            }
            calls_ += core::text("        ", code.expression, ";\n");
        }
    }

    void add_sum(SymbolId id, Combination combination, const std::string& term) {
        const std::string name = core::text("s", sums_);
        sum_members_ += core::text("        bodies::LaneSums<", cpp_type(type(id).dtype),
                                   ", bodies::", name_of(combination), ", lanes> ", name, ";\n");
        sum_visits_ +=
            core::text("            action(", sums_, ", ", name, ", other.", name, ");\n");
        calls_ += core::text("        sums.", name, ".add(at.lane, ", term, ");\n");
        sum_stores_ += core::text("        *", cast(id, false), " = sums.", name, ".total();\n");
        summed_.insert(id);
        ++sums_;
    }

    void store(SymbolId id) {
        if (summed_.count(id) > 0) return;
        const std::string& value = names_.at(id);
        if (type(id).is_scalar()) {
            scalar_stores_ += core::text("        *", cast(id, false), " = ", value, ";\n");
        } else if (type(id).kind == Kind::batch) {
            stores_ += core::text("        on.store(chip.", value, ", ", pointer(id), ");\n");
        } else {
            stores_ += core::text("        ", pointer(id), "[at.here] = ", value, ";\n");
        }
    }

    const Program& program_;
    const Kernel& kernel_;
    Preamble& preamble_;
    std::map<SymbolId, std::string> names_;
    std::map<SymbolId, int> versions_;
    std::set<SymbolId> pointers_, summed_;
    int left_ = 0, right_ = 0, sums_ = 0, workspaces_ = 0;
    std::string members_, scalars_, loads_, calls_, stores_, scalar_stores_;
    std::string sum_members_, sum_visits_, sum_stores_;
    std::string real_, numbers_, views_;
};

/// Entries of a row that a thread of a device computes.
int columns_of_thread(const Kernel& kernel) {
    return has_sums(kernel) ? kernels::piece_length / kernels::lanes : 1;
}

/// How a device computes problems: a group of threads each, several groups a block.
struct Groups {
    int threads, problems;
    index_t shared_bytes;
};

/// As the compiler lays out kernels::BlockProblems::Numbers.
index_t shared_bytes(const Kernel& kernel, int problems) {
    index_t bytes = 0;
    for (const OnChip& one : kernel.on_chip) {
        const index_t size = bytes_of(one.type.dtype);
        const index_t numbers = one.type.numbers_of_problem();
        const index_t stride = problems == 1 ? numbers : numbers | 1;
        bytes = (bytes + size - 1) / size * size + problems * stride * size;
    }
    return (bytes + 15) / 16 * 16;
}

/// A thread for results of at most 4 numbers, 8 for 36, a warp for 400, else a block of 128: each
/// computes a few. Blocks have 128 threads, or as many groups as fit the bytes on chip, but at
/// least one group and one warp.
Groups groups_of(const Kernel& kernel) {
    constexpr int block = 128;
    index_t most = 0;
    for (const PlannedCall& planned : kernel.calls) {
        for (const Type& type : planned.match.results) {
            if (type.kind == Kind::batch) most = std::max(most, type.numbers_of_problem());
        }
    }
    Groups groups{most <= 4 ? 1 : most <= 36 ? 8 : most <= 400 ? kernels::lanes : block, 1, 0};
    groups.problems = block / groups.threads;
    while (groups.problems > 1 && shared_bytes(kernel, groups.problems) > most_bytes_on_chip) {
        groups.problems /= 2;
    }
    groups.threads = std::max(groups.threads, kernels::lanes / groups.problems);
    groups.shared_bytes = shared_bytes(kernel, groups.problems);
    return groups;
}

std::string functions(const Kernel& kernel, Target target) {
    const std::string name = core::text("Kernel_", kernel.number);
    const auto function = [&](const char* head, const char* parameters, const std::string& call) {
        return core::text(head, "_", kernel.number, "(", parameters, ") {\n    kernels::", call,
                          ";\n}\n");
    };
    if (target == Target::cpu) {
        const bool batches = is_of_batches(kernel);
        return function("void strips",
                        "const kernels::KernelArguments& arguments, long long first, long long end",
                        core::text(batches ? "compute_problems<" : "compute_strips<", name,
                                   ">(arguments, first, end)")) +
               function("void finish", "const kernels::KernelArguments& arguments",
                        core::text(batches ? "store_scalars<" : "finish<", name, ">(arguments)"));
    }
    if (is_of_batches(kernel)) {
        const Groups groups = groups_of(kernel);
        return function("__global__ void elements", "kernels::KernelArguments arguments",
                        core::text("compute_problems<", name, ", ", groups.threads, ", ",
                                   groups.problems, ", ", groups.shared_bytes, ">(arguments)"));
    }
    std::string all = function(
        "__global__ void elements", "kernels::KernelArguments arguments",
        core::text("compute_elements<", name, ", ", columns_of_thread(kernel), ">(arguments)"));
    if (has_sums(kernel)) {
        all += function("__global__ void finish", "kernels::KernelArguments arguments",
                        core::text("finish<", name, ">(arguments)"));
    }
    return all;
}

}  // namespace

std::string_view cpp_type(Dtype dtype) {
    switch (dtype) {
        case Dtype::f32:
            return "float";
        case Dtype::f64:
            return "double";
        case Dtype::c64:
            return "core::Complex<float>";
        case Dtype::c128:
            return "core::Complex<double>";
        case Dtype::i64:
            return "long long";
        case Dtype::boolean:
            return "bool";
    }
    return "";
}

std::string_view name_of(Combination combination) {
    switch (combination) {
        case Combination::add:
            return "SumOf";
        case Combination::greatest:
            return "GreatestOf";
        case Combination::least:
            return "LeastOf";
    }
    return "";
}

std::string literal(Dtype dtype, double number) {
    std::array<char, 64> digits{};
    const bool single = dtype == Dtype::f32;
    std::snprintf(digits.data(), digits.size(), "%a",
                  single ? static_cast<double>(static_cast<float>(number)) : number);
    return std::string(digits.data()) + (single ? "f" : "");
}

bool is_generated(const Kernel& kernel) {
    return !kernel.exchanges && kernel.calls.front().match.level != Level::device;
}

bool has_sums(const Kernel& kernel) {
    return std::any_of(kernel.calls.begin(), kernel.calls.end(), [](const PlannedCall& planned) {
        return planned.match.level == Level::sum;
    });
}

kernels::Walk walk_over(const Type& elements) {
    if (elements.rank == 0) return {};
    const auto rank = static_cast<std::size_t>(elements.rank);
    kernels::Walk walk;
    walk.count = elements.size();
    if (elements.kind == Kind::batch) {
        walk.columns = kernels::problems_of_row;
        walk.rows = (walk.count + walk.columns - 1) / walk.columns;
        return walk;
    }
    walk.columns = rank == 1 ? std::min(kernels::vector_row, std::max<index_t>(walk.count, 1))
                             : elements.extent[rank - 1];
    walk.rows_of_plane = rank == 1 ? 0 : elements.extent[rank - 2];
    walk.rows = walk.columns == 0 ? 0 : (walk.count + walk.columns - 1) / walk.columns;
    return walk;
}

index_t sums_of(const Kernel& kernel, Target target) {
    const kernels::Walk walk = walk_over(kernel.elements);
    const auto sums =
        std::count_if(kernel.calls.begin(), kernel.calls.end(),
                      [](const PlannedCall& planned) { return planned.match.level == Level::sum; });
    return sums * (walk.strips() + (target == Target::device ? walk.pieces() : 0));
}

LaunchShape launch_of(const Kernel& kernel) {
    constexpr index_t most_rows_of_blocks = 65535, most_blocks_of_problems = 65535;
    const kernels::Walk walk = walk_over(kernel.elements);
    if (is_of_batches(kernel)) {
        const Groups groups = groups_of(kernel);
        const auto threads = static_cast<unsigned>(groups.threads * groups.problems);
        const index_t blocks = (walk.count + groups.problems - 1) / groups.problems;
        return {static_cast<unsigned>(std::clamp<index_t>(blocks, 1, most_blocks_of_problems)), 1,
                threads, 1, groups.shared_bytes};
    }
    LaunchShape shape;
    const auto blocks = [](index_t count, index_t of_block) {
        return std::max<index_t>(1, (count + of_block - 1) / of_block);
    };
    shape.grid_x = static_cast<unsigned>(
        blocks(walk.columns, index_t{columns_of_thread(kernel)} * kernels::lanes));
    shape.grid_y =
        static_cast<unsigned>(std::min(blocks(walk.rows, shape.block_y), most_rows_of_blocks));
    return shape;
}

std::string kernel_text(const Plan& plan, Target target) {
    Preamble preamble;
    std::string structs, all;
    for (const Kernel* kernel : plan.kernels()) {
        if (!is_generated(*kernel)) continue;
        if (is_of_batches(*kernel)) preamble.headers.insert("libcompose/kernels/problems.cuh");
        structs += KernelWriter(*plan.program, *kernel, preamble).text();
        structs += functions(*kernel, target);
    }
    if (target == Target::cpu) all += "#define APERTURE_COMPOSE_CPU\n";
    all += "#include \"libcompose/kernels/elements.cuh\"\n";
    for (const std::string& name : preamble.headers) all += "#include \"" + name + "\"\n";
    all += "namespace aperture::compose::generated {\n";
    for (const std::string& text : preamble.definitions) all += text;
    return all + structs + "}  // namespace aperture::compose::generated\n";
}

std::vector<std::span<const core::KernelText>> included_texts(const Plan& plan) {
    std::vector<std::span<const core::KernelText>> all{core::kernel_texts(), kernel_texts()};
    for (const Kernel* kernel : plan.kernels()) {
        for (const PlannedCall& planned : kernel->calls) {
            const auto texts = planned.operation->texts();
            const bool known = std::any_of(all.begin(), all.end(), [&](const auto& other) {
                return other.data() == texts.data();
            });
            if (!texts.empty() && !known) all.push_back(texts);
        }
    }
    return all;
}

}  // namespace aperture::compose
