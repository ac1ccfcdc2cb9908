// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "aperture/core/error.hpp"
#include "libcompose/emit.hpp"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose {

/// Writes the struct of one kernel: its pointers, scalars and calls. What these need goes into the
/// other members of `generated`.
class KernelWriter {
  public:
    KernelWriter(const Program& program, const Kernel& kernel, GeneratedKernel& generated)
        : program_(program), kernel_(kernel), generated_(generated) {}
    virtual ~KernelWriter() = default;
    KernelWriter(const KernelWriter&) = delete;
    KernelWriter& operator=(const KernelWriter&) = delete;

    std::string text() {
        for (const SymbolId id : kernel_.loads) load_scalar(id);
        for (const PlannedCall& planned : kernel_.calls) add(planned);
        for (const SymbolId id : kernel_.stores) {
            if (type(id).is_scalar() && names_.count(id) > 0) {
                scalar_stores_ +=
                    core::text("        *", cast(id, false), " = ", names_.at(id), ";\n");
            } else {
                store(id);
            }
        }
        return core::text("struct Kernel {\n", inner(), "};\n");
    }

  protected:
    virtual void add(const PlannedCall& planned) = 0;
    virtual void store(SymbolId id) = 0;
    /// What is between the braces.
    virtual std::string inner() = 0;

    /// Members, the constructor and store_scalars.
    std::string head() const {
        return core::text(members_, "    APERTURE_HD explicit Kernel(void* const* symbols) {\n",
                          scalars_,
                          "        (void)symbols;\n    }\n"
                          "    APERTURE_HD void store_scalars(void* const* symbols) const {\n",
                          scalar_stores_, "        (void)symbols;\n    }\n");
    }

    const Type& type(SymbolId id) const { return program_[id].type; }

    std::string cast(SymbolId id, bool constant) const {
        return core::text("static_cast<", constant ? "const " : "", cpp_type(type(id).dtype),
                          "*>(symbols[", id, "])");
    }
    std::string variable(SymbolId id) {
        return core::text("v", id, "_", program_[id].name, "_", versions_[id]++);
    }
    /// The next variable of a symbol's values.
    std::string next_name(SymbolId id) { return names_[id] = variable(id); }
    void add_member(SymbolId id, const std::string& name) { members_ += declaration(id, name); }
    std::string declaration(SymbolId id, const std::string& name) const {
        return core::text("        ", cpp_type(type(id).dtype), " ", name, ";\n");
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
        std::string name = core::text("p", id, "_", program_[id].name);
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
        if (access.kind == Access::Kind::halo) return neighbours(id);
        if (access.kind == Access::Kind::whole) return pointer(id);
        return value(id, access.kind);
    }
    /// What has the entries of a symbol around the place.
    virtual std::string neighbours(SymbolId id) { return pointer(id); }
    /// The value of a symbol in the place, or its row or column.
    virtual std::string value(SymbolId id, Access::Kind access) {
        if (access == Access::Kind::row) return pointer(id) + "[at.row]";
        if (access == Access::Kind::column) return pointer(id) + "[at.column]";
        const auto found = names_.find(id);
        if (found != names_.end()) return found->second;
        std::string from = pointer(id), name = next_name(id);
        loads_ += core::text("        const ", cpp_type(type(id).dtype), " ", name, " = ", from,
                             "[at.here];\n");
        return name;
    }

    /// The operands of a call, and the columns and rows that its halos need.
    std::vector<std::string> operands_of(const PlannedCall& planned) {
        std::vector<std::string> operands;
        const Call& call = *planned.call;
        for (std::size_t i = 0; i < call.operands.size(); ++i) {
            const Access& access = planned.match.accesses[i];
            operands.push_back(operand(call.operands[i], access));
            if (access.kind != Access::Kind::halo) continue;
            left_ = std::max(left_, access.left);
            right_ = std::max(right_, access.right);
            above_ = std::max(above_, access.above);
            below_ = std::max(below_, access.below);
        }
        return operands;
    }
    std::string expression(const PlannedCall& planned, const std::vector<std::string>& operands,
                           const std::vector<std::string>& results) {
        Code code = planned.operation->code({program_, *planned.call}, operands, results);
        if (!code.definitions.empty()) generated_.definitions.insert(code.definitions);
        generated_.headers.insert(code.headers.begin(), code.headers.end());
        return std::move(code.expression);
    }

    /// Adds a call on entries to those of `calls`, or of scalars to the constructor.
    void add_call(const PlannedCall& planned, std::string& calls) {
        const Call& call = *planned.call;
        const std::vector<std::string> operands = operands_of(planned);
        std::vector<std::string> results;
        for (const SymbolId id : call.results) results.push_back(next_name(id));
        const std::string value = expression(planned, operands, results);
        const bool several = results.size() > 1;
        if (planned.match.results[0].is_scalar()) {
            for (std::size_t i = 0; i < results.size(); ++i) {
                add_member(call.results[i], results[i]);
            }
            scalars_ += core::text("        ", several ? "" : results[0] + " = ", value, ";\n");
        } else if (several) {
            for (std::size_t i = 0; i < results.size(); ++i) {
                calls += declaration(call.results[i], results[i]);
            }
            calls += core::text("        ", value, ";\n");
        } else {
            calls += core::text("        const ", cpp_type(type(call.results[0]).dtype), " ",
                                results[0], " = ", value, ";\n");
        }
    }

    const Program& program_;
    const Kernel& kernel_;
    GeneratedKernel& generated_;
    std::map<SymbolId, std::string> names_;
    std::map<SymbolId, int> versions_;
    std::set<SymbolId> pointers_;
    int left_ = 0, right_ = 0, above_ = 0, below_ = 0;
    std::string members_, scalars_, loads_, scalar_stores_;
};

/// Sums of a kernel that have a struct: its members, and visits of all of them.
class SumMembers {
  public:
    /// The new sum's name.
    std::string add(std::string_view type, std::string_view combination, std::string_view lanes) {
        std::string name = core::text("s", count_);
        members_ += core::text("        bodies::LaneSums<", type, ", bodies::", combination, ", ",
                               lanes, "> ", name, ";\n");
        visits_ += core::text("            action(", count_, ", ", name, ", other.", name, ");\n");
        ++count_;
        return name;
    }
    std::string structure(std::string_view head) const {
        return core::text("    ", head, " {\n", members_,
                          "        template <class Other, class Action>\n"
                          "        APERTURE_HD void each(Other& other, const Action& action) {\n",
                          visits_, "            (void)other, (void)action;\n        }\n    };\n");
    }
    int count() const { return count_; }

  private:
    int count_ = 0;
    std::string members_, visits_;
};

/// The writer of a kernel that adds up rows or columns; see kernels/rows.cuh.
std::unique_ptr<KernelWriter> row_kernel_writer(const Program& program, const Kernel& kernel,
                                                GeneratedKernel& generated);

}  // namespace aperture::compose
