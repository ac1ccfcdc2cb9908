// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/emit.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "libcompose/kernel_writer.hpp"
#include "libcompose/line_calls.hpp"
#include "libcompose/problem_groups.hpp"
#include "libcompose/tiles.hpp"
#include "libcore/gpu/compile_kernel.hpp"

namespace aperture::compose {

namespace {

/// Of a kernel over elements.
class ElementWriter : public KernelWriter {
  public:
    ElementWriter(const Program& program, const Kernel& kernel, Target target,
                  GeneratedKernel& generated)
        : KernelWriter(program, kernel, generated),
          columns_(target == Target::cpu ? kernel.elements.extent[1] : columns_of_block(kernel)),
          part_(kernel.parts.empty() ? nullptr : &kernel.parts.back()) {}

  private:
    void add(const PlannedCall& planned) override {
        call_ = std::size_t(&planned - kernel_.calls.data());
        if (part_ != nullptr && !part_->calls[call_]) {
            names_.erase(planned.call->results[0]);
            return;
        }
        if (planned.match.level != Level::sum) return add_call(planned, calls_);
        const SymbolId id = planned.call->results[0];
        const std::string term = expression(planned, operands_of(planned), {});
        const std::string sum =
            sums_.add(cpp_type(type(id).dtype), name_of(planned.match.combination), "lanes");
        const std::string name = "term_" + sum;
        calls_ +=
            core::text("        const ", cpp_type(type(id).dtype), " ", name, " = ", term, ";\n");
        keep(id, name, core::text("sums.", sum, ".add(at.lane, "), ")");
        sum_stores_ += core::text("        *", cast(id, false), " = sums.", sum, ".total();\n");
        summed_.insert(id);
        names_.erase(id);
    }
    std::string neighbours(SymbolId id) override {
        const int maker = maker_of(kernel_.calls, call_, id);
        return maker < 0 ? pointer(id) : core::text("tile", maker);
    }
    /// What has no name in this part is in a tile of one before, or in memory.
    std::string value(SymbolId id, Access::Kind access) override {
        const int maker = maker_of(kernel_.calls, call_, id);
        if (maker < 0 || names_.count(id) > 0) return KernelWriter::value(id, access);
        std::string name = next_name(id);
        loads_ += core::text("        const ", cpp_type(type(id).dtype), " ", name, " = tile",
                             maker, ".at(at.row, at.column);\n");
        return name;
    }
    void store(SymbolId id) override {
        if (summed_.count(id) > 0) return;
        call_ = kernel_.calls.size();
        keep(id, value(id, Access::Kind::point), pointer(id) + "[at.here] = ", "");
    }
    /// What an element stores or adds.
    void keep(SymbolId id, const std::string& name, const std::string& before, const char* after) {
        values_ += declaration(id, name);
        names_of_values_ += (names_of_values_.empty() ? "" : ", ") + name;
        stores_ += core::text("        ", before, "values.", name, after, ";\n");
    }
    std::string inner() override {
        const std::string compute = core::text(
            "    template <class Place>\n    [[gnu::always_inline]] APERTURE_HD Values "
            "compute(const Place& at) const {\n",
            loads_, calls_, "        (void)at;\n        return {", names_of_values_, "};\n    }\n");
        const std::string of_tiles = tiles();
        return core::text(
            "    static constexpr long long left = ", left_, ", right = ", right_,
            ", above = ", above_, ", below = ", below_,
            ";\n    static constexpr int sums = ", sums_.count(), ";\n", of_tiles,
            sums_.structure("template <int lanes>\n    struct Sums"), "    struct Values {\n",
            values_, "    };\n", head(), compute,
            "    template <class Place, class Sums>\n    [[gnu::always_inline]] APERTURE_HD "
            "void store(const Place& at, const Values& values, Sums& sums) const {\n",
            stores_, "        (void)at, (void)values, (void)sums;\n    }\n",
            "    template <class Sums>\n"
            "    APERTURE_HD void store_sums(void* const* symbols, const Sums& sums) const {\n",
            sum_stores_, "        (void)symbols, (void)sums;\n    }\n");
    }

    /// Functions that compute entries of tiles in one place, and the one that visits all parts.
    std::string tiles() {
        std::string functions, visits;
        index_t bytes = 0;
        for (std::size_t i = 0; i + 1 < kernel_.parts.size(); ++i) {
            part_ = &kernel_.parts[i];
            const auto& [run, tiles, margin] = *part_;
            const std::string part = core::text("Part", i);
            functions += core::text("    struct ", part,
                                    " {\n        static constexpr int above = ", margin.above,
                                    ", below = ", margin.below, ", left = ", margin.left,
                                    ", right = ", margin.right, ";\n    };\n");
            std::erase_if(names_, [&](const auto& name) { return !type(name.first).is_scalar(); });
            loads_.clear();
            calls_.clear();
            for (const PlannedCall& planned : kernel_.calls) {
                const SymbolId id = planned.call->results[0];
                if (type(id).is_scalar()) continue;
                add(planned);
                if (std::count(tiles.begin(), tiles.end(), call_) == 0) continue;
                const std::string tile = core::text("tile", call_);
                const Dtype dtype = type(id).dtype;
                members_ +=
                    core::text("    kernels::Tile<", cpp_type(dtype), ", ", rows_of_tile(margin),
                               ", ", columns_ + margin.left + margin.right, "> ", tile, ";\n");
                calls_ +=
                    core::text("        ", tile, ".at(at.row, at.column) = ", names_.at(id), ";\n");
                visits += core::text("        ", tile, " = {reinterpret_cast<", cpp_type(dtype),
                                     "*>(memory + ", bytes, "), column - ", margin.left, "};\n");
                bytes += bytes_of_tile(margin, dtype, columns_);
            }
            functions += core::text(
                "    template <class Place>\n    [[gnu::always_inline]] "
                "APERTURE_HD void compute(",
                part, ", const Place& at) const {\n", loads_, calls_, "    }\n");
            visits += core::text("        action(", part, "());\n");
        }
        return core::text("    static constexpr int tile_bytes = ", bytes, ";\n", functions,
                          "    template <class Action>\n    APERTURE_HD void each_part(unsigned "
                          "char* memory, long long column, const Action& action) {\n",
                          visits, "        (void)memory, (void)column, (void)action;\n    }\n");
    }

    index_t columns_;         // of tiles, without margins
    const KernelPart* part_;  // that is written; null without tiles
    std::size_t call_ = 0;
    std::set<SymbolId> summed_;
    SumMembers sums_;
    std::string calls_, stores_, sum_stores_;
    std::string values_, names_of_values_;
};

/// Of a kernel over problems of batches.
class ProblemWriter : public KernelWriter {
  public:
    ProblemWriter(const Program& program, const Kernel& kernel, Target target,
                  GeneratedKernel& generated)
        : KernelWriter(program, kernel, generated) {
        generated.headers.insert("libcompose/kernels/problems.cuh");
        add_numbers(target == Target::device);
    }

  private:
    /// What is on chip, and the views of all calls.
    void add_numbers(bool device) {
        int workspaces = 0;
        const bool by_threads = device && problem_groups(kernel_).threads == 1;
        for (const OnChip& one : kernel_.on_chip) {
            const auto& [id, type] = one;
            const Dtype dtype = type.dtype;
            const std::string name = id >= 0 ? core::text("b", id, "_", program_[id].name)
                                             : core::text("work", workspaces++);
            if (id >= 0) names_[id] = name;
            const std::string numbers =
                core::text("<", cpp_type(dtype), ", ", type.numbers_of_problem(), "> ");
            std::string place = "chip." + name;
            if (by_threads && !is_moved(kernel_, one)) {
                place = "own_" + name;
                views_ += core::text("        typename On::template Own", numbers, place, ";\n");
            } else {
                numbers_ +=
                    core::text("        typename On::template Numbers", numbers, name, ";\n");
            }
            views_ += core::text("        const auto ", name, " = on.template view<", type.rows(),
                                 ", ", type.columns(), ">(", place, ");\n");
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
    void add(const PlannedCall& planned) override {
        if (planned.match.level != Level::block) return add_call(planned, calls_);
        std::vector<std::string> operands, results;
        for (const SymbolId id : planned.call->operands) operands.push_back(operand(id, {}));
        for (const SymbolId id : planned.call->results) results.push_back(names_.at(id));
        if (planned.match.workspace.kind == Kind::batch) {
            operands.push_back(core::text("work", workspaces_++));
        }
        calls_ += core::text("        ", expression(planned, operands, results),
                             ";\n        group.sync();\n");
    }
    void store(SymbolId id) override {
        stores_ += core::text("        on.store(chip.", names_.at(id), ", ", pointer(id), ");\n");
    }
    std::string inner() override {
        const auto function = [](const char* name, const std::string& body) {
            return core::text("    template <class On>\n    APERTURE_HD void ", name,
                              "(const On& on, Chip<On>& chip) const {\n", body,
                              "        (void)on, (void)chip;\n    }\n");
        };
        return core::text(
            "    using Real = ", real_, ";\n    template <class On>\n", "    struct Chip {\n",
            numbers_, "    };\n", head(), function("load", loads_),
            function("compute",
                     core::text("        const auto group = on.group();\n", views_, calls_)),
            function("store", stores_));
    }

    int workspaces_ = 0;
    std::string real_, numbers_, views_, calls_, stores_;
};

std::unique_ptr<KernelWriter> writer_of(const Program& program, const Kernel& kernel, Target target,
                                        GeneratedKernel& generated) {
    if (is_of_batches(kernel)) {
        return std::make_unique<ProblemWriter>(program, kernel, target, generated);
    }
    if (is_of_rows(kernel)) return row_kernel_writer(program, kernel, generated);
    return std::make_unique<ElementWriter>(program, kernel, target, generated);
}

std::string functions(const Kernel& kernel, Target target) {
    const auto function = [](const char* head, const char* parameters, const std::string& call) {
        return core::text(head, "(", parameters, ") {\n    kernels::", call, ";\n}\n");
    };
    const bool batches = is_of_batches(kernel), rows = is_of_rows(kernel);
    if (target == Target::cpu) {
        const char* const parameters =
            "const kernels::KernelArguments& arguments, long long first, long long end";
        return function("void strips", parameters,
                        core::text(batches ? "compute_problems"
                                   : rows  ? "compute_rows"
                                           : "compute_strips",
                                   "<Kernel>(arguments, first, end)")) +
               function("void finish", parameters,
                        core::text(batches ? "finish_problems"
                                   : rows  ? "finish_rows"
                                           : "finish",
                                   "<Kernel>(arguments, first, end)"));
    }
    // Blocks of a device compute one of several values.
    const auto global = [&](const std::string& head, const std::string& walk) {
        return function(("__global__ void " + head).c_str(), "kernels::GridArguments grid",
                        walk + "(grid.of(blockIdx.z))");
    };
    if (rows) {
        const LaunchShape shape = launch_of(kernel);
        return global(core::text("__launch_bounds__(", shape.block_x * shape.block_y, ") elements"),
                      core::text("compute_rows<Kernel, ", pieces_of_warp(kernel), ", ",
                                 strips_of_block(kernel), ", ",
                                 has_whole_pieces(kernel) ? "true" : "false", ">")) +
               global("finish", core::text("finish_rows<Kernel, ", strips_of_block(kernel), ">"));
    }
    if (batches) {
        const ProblemGroups groups = problem_groups(kernel);
        return global("elements", core::text("compute_problems<Kernel, ", groups.threads, ", ",
                                             groups.problems, ", ", groups.shared_bytes, ">"));
    }
    // Measured: half of the threads that fit, each with the loads of several elements under way.
    const int columns = columns_of_block(kernel) / kernels::lanes;
    const char* const head =
        columns > 1 && !has_sums(kernel) ? "__launch_bounds__(256, 4) elements" : "elements";
    std::string all = global(head, core::text("compute_elements<Kernel, ", columns, ">"));
    if (has_sums(kernel)) all += global("finish", "finish<Kernel>");
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

std::string struct_of(const Program& program, const Kernel& kernel, Target target,
                      GeneratedKernel& generated) {
    return writer_of(program, kernel, target, generated)->text();
}

GeneratedKernel generate(const Program& program, const Kernel& kernel, Target target) {
    GeneratedKernel all;
    all.text = struct_of(program, kernel, target, all) + functions(kernel, target);
    const bool cpu = target == Target::cpu;
    all.functions.push_back(cpu ? "strips" : "elements");
    if (cpu || has_finish(kernel)) all.functions.push_back("finish");
    return all;
}

std::string text_of(std::span<const GeneratedKernel> kernels, Target target) {
    std::set<std::string> headers, definitions;
    std::string bodies;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        headers.insert(kernels[i].headers.begin(), kernels[i].headers.end());
        definitions.insert(kernels[i].definitions.begin(), kernels[i].definitions.end());
        bodies += core::text("namespace kernel_", i, " {\n", kernels[i].text, "}\n");
    }
    std::string all;
    if (target == Target::cpu) {
        // Bodies of users and of other libraries may call any function.
        const bool calls_few = definitions.empty() &&
                               std::all_of(headers.begin(), headers.end(), [](const auto& name) {
                                   return name.starts_with("libcompose/");
                               });
        if (calls_few) all += "#include \"libcompose/kernels/functions.hpp\"\n";
        all += "#define APERTURE_COMPOSE_CPU\n";
    }
    all += "#include \"libcompose/kernels/elements.cuh\"\n";
    for (const std::string& name : headers) all += "#include \"" + name + "\"\n";
    all += "namespace aperture::compose::generated {\n";
    for (const std::string& text : definitions) all += text;
    return all + bodies + "}  // namespace aperture::compose::generated\n";
}

std::string function_name(const char* function, std::size_t kernel) {
    return core::text("aperture::compose::generated::kernel_", kernel, "::", function);
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
