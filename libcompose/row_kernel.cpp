// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/kernel_writer.hpp"

namespace aperture::compose {
namespace {

class RowWriter : public KernelWriter {
  public:
    RowWriter(const Program& program, const Kernel& kernel, GeneratedKernel& generated)
        : KernelWriter(program, kernel, generated), reads_totals_(reads_totals(kernel)) {
        generated.headers.insert("libcompose/kernels/rows.cuh");
    }

  private:
    void add(const PlannedCall& planned) override {
        const bool second = reads_totals_[calls_++];
        if (!adds_lines(planned.match.level)) {
            return add_call(planned, second ? second_calls_ : first_calls_);
        }
        const SymbolId id = planned.call->results[0];
        const bool of_row = planned.match.level == Level::row;
        const std::string term = expression(planned, operands_of(planned), {});
        const std::string sum = (of_row ? rows_ : columns_)
                                    .add(cpp_type(type(id).dtype), "SumOf", of_row ? "lanes" : "1");
        if (of_row) {
            row_terms_ += core::text("        rows.", sum, ".add(at.lane, ", term, ");\n");
            totals_[id] = "totals." + sum + ".values[0]";
        } else {
            column_terms_ += core::text("        columns.", sum, ".add(0, ", term, ");\n");
            column_totals_[id] = "columns." + sum + ".values[0]";
        }
    }

    std::string value(SymbolId id, Access::Kind access) override {
        if (access == Access::Kind::row) {
            const auto total = totals_.find(id);
            return total != totals_.end() ? total->second
                                          : member(of_row_, id, "of_row", "row", row_names_);
        }
        if (access == Access::Kind::column) {
            return member(of_column_, id, "of_column", "column", column_names_);
        }
        return member(loaded_, id, "loaded", "at.here", names_);
    }

    /// Members of a struct, and what sets them.
    struct Members {
        std::string declarations, loads;
    };
    std::string member(Members& members, SymbolId id, const std::string& of, const char* place,
                       std::map<SymbolId, std::string>& names) {
        const auto found = names.find(id);
        if (found != names.end()) return found->second;
        const std::string name = variable(id);
        members.declarations += declaration(id, name);
        members.loads +=
            core::text("        ", of, ".", name, " = ", pointer(id), "[", place, "];\n");
        return names[id] = core::text(of, ".", name);
    }

    void store(SymbolId id) override {
        const auto row = totals_.find(id), column = column_totals_.find(id);
        if (row != totals_.end()) {
            row_stores_ += core::text("        ", pointer(id), "[row] = ", row->second, ";\n");
        } else if (column != column_totals_.end()) {
            column_stores_ +=
                core::text("        ", pointer(id), "[column] = ", column->second, ";\n");
        } else {
            stores_ += core::text("        ", pointer(id), "[at.here] = ", names_.at(id), ";\n");
        }
    }

    std::string inner() const override {
        const auto structure = [](const char* name, const Members& members) {
            return core::text("    struct ", name, " {\n", members.declarations, "    };\n");
        };
        const auto loader = [](const char* head, const char* type, const char* name,
                               const Members& members, const char* unused) {
            return core::text("    ", head, "APERTURE_HD ", type, " ", name, " const {\n        ",
                              type, " ", unused, ";\n", members.loads, "        return ", unused,
                              ";\n    }\n");
        };
        const auto part = [](const char* name, const char* sums, const std::string& body) {
            return core::text(
                "    template <class Place, class Sums>\n    [[gnu::always_inline]] APERTURE_HD "
                "void ",
                name,
                "(const Place& at, const OfRow& of_row, const OfColumn& of_column, const Loaded& "
                "loaded, ",
                sums, ", Columns& columns) const {\n", body,
                "        (void)at, (void)of_row, (void)of_column, (void)loaded, (void)columns;\n");
        };
        const bool in_parts = is_in_parts(kernel_);
        const std::string rest = core::text(second_calls_, column_terms_, stores_);
        return core::text(
            "    static constexpr long long left = ", left_, ", right = ", right_,
            ";\n    static constexpr int row_sums = ", rows_.count(),
            ", column_sums = ", columns_.count(),
            ";\n    static constexpr bool in_parts = ", in_parts ? "true" : "false", ";\n",
            rows_.structure("template <int lanes>\n    struct Rows"),
            columns_.structure("struct Columns"), structure("OfRow", of_row_),
            structure("OfColumn", of_column_), structure("Loaded", loaded_), head(),
            loader("", "OfRow", "of_row([[maybe_unused]] long long row)", of_row_, "of_row"),
            loader("", "OfColumn", "of_column([[maybe_unused]] long long column)", of_column_,
                   "of_column"),
            loader("template <class Place>\n    ", "Loaded", "load(const Place& at)", loaded_,
                   "loaded"),
            part("first", "Sums& rows",
                 core::text(first_calls_, row_terms_, in_parts ? "" : rest,
                            "        (void)rows;\n")),
            "    }\n",
            part("second", "const Sums& totals",
                 core::text(in_parts ? first_calls_ + rest : "", "        (void)totals;\n")),
            "    }\n    template <class Sums>\n",
            "    APERTURE_HD void store_row(long long row, const Sums& totals) const {\n",
            row_stores_, "        (void)row, (void)totals;\n    }\n",
            "    APERTURE_HD void store_column(long long column, const Columns& columns) const {\n",
            column_stores_, "        (void)column, (void)columns;\n    }\n");
    }

    std::vector<bool> reads_totals_;
    std::size_t calls_ = 0;
    SumMembers rows_, columns_;
    Members of_row_, of_column_, loaded_;
    std::map<SymbolId, std::string> row_names_, column_names_, totals_, column_totals_;
    std::string first_calls_, second_calls_, row_terms_, column_terms_;
    std::string stores_, row_stores_, column_stores_;
};

}  // namespace

std::unique_ptr<KernelWriter> row_kernel_writer(const Program& program, const Kernel& kernel,
                                                GeneratedKernel& generated) {
    return std::make_unique<RowWriter>(program, kernel, generated);
}

}  // namespace aperture::compose
