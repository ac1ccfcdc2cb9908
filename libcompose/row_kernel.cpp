// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/kernel_writer.hpp"
#include "libcompose/line_calls.hpp"

namespace aperture::compose {
namespace {

class RowWriter : public KernelWriter {
  public:
    RowWriter(const Program& program, const Kernel& kernel, GeneratedKernel& generated)
        : KernelWriter(program, kernel, generated), parts_(line_parts(kernel)) {
        generated.headers.insert("libcompose/kernels/rows.cuh");
        for (const SymbolId id : kernel.stores) stores_images_ |= type(id).rank == 2;
    }

  private:
    /// Members of a struct, what sets them, and which of them are symbols' values.
    struct Members {
        std::string declarations, statements;
        std::map<SymbolId, std::string> names;
    };
    /// What is known of a line: entries of vectors that are loaded, or made of its totals; and what
    /// is stored of these.
    struct Line {
        const char* place;
        Members loaded, values;
        std::string stores;
    };

    void add(const PlannedCall& planned) override {
        part_ = parts_[calls_++];
        if (adds_lines(planned.match.level)) return add_sum(planned);
        if (part_ == LinePart::of_row) return add_vectors(planned, row_);
        if (part_ == LinePart::of_column) return add_vectors(planned, column_);
        add_call(planned, part_ == LinePart::second ? second_calls_ : first_calls_);
    }
    void add_sum(const PlannedCall& planned) {
        const SymbolId id = planned.call->results[0];
        const bool of_row = planned.match.level == Level::row;
        const std::string term = expression(planned, operands_of(planned), {});
        const std::string sum = (of_row ? rows_ : columns_)
                                    .add(cpp_type(type(id).dtype), "SumOf", of_row ? "lanes" : "1");
        if (of_row) {
            row_terms_ += core::text("        rows.", sum, ".add(at.lane, ", term, ");\n");
        } else {
            column_terms_ += core::text("        columns.", sum, ".add(0, ", term, ");\n");
        }
        Members& values = (of_row ? row_ : column_).values;
        const std::string value = add_value(values, id);
        values.statements += core::text("        ", value, " = totals.", sum, ".values[0];\n");
    }
    void add_vectors(const PlannedCall& planned, Line& line) {
        const std::vector<std::string> operands = operands_of(planned);
        std::vector<std::string> results;
        for (const SymbolId id : planned.call->results) {
            results.push_back(add_value(line.values, id));
        }
        line.values.statements +=
            core::text("        ", results.size() > 1 ? "" : results[0] + " = ",
                       expression(planned, operands, results), ";\n");
    }
    std::string add_value(Members& values, SymbolId id) {
        const std::string name = variable(id);
        values.declarations += declaration(id, name);
        return values.names[id] = "values." + name;
    }

    std::string value(SymbolId id, Access::Kind access) override {
        if (type(id).is_scalar()) return names_.at(id);
        const bool point = access == Access::Kind::point;
        if (access == Access::Kind::row || (point && part_ == LinePart::of_row)) {
            return value(row_, id, "of_row");
        }
        if (access == Access::Kind::column || (point && part_ == LinePart::of_column)) {
            return value(column_, id, "of_column");
        }
        const auto found = names_.find(id);
        if (found != names_.end()) return found->second;
        const std::string here = stores_images_
                                     ? core::text(pointer(id), "[at.here]")
                                     : core::text("kernels::streamed(", pointer(id), " + at.here)");
        return names_[id] = load(loaded_, id, "loaded", here);
    }
    std::string value(Line& line, SymbolId id, const char* of) {
        const auto made = line.values.names.find(id);
        return made != line.values.names.end()
                   ? made->second
                   : load(line.loaded, id, of, core::text(pointer(id), "[", line.place, "]"));
    }
    /// The member of `of` that is loaded so.
    std::string load(Members& members, SymbolId id, const char* of, const std::string& entry) {
        std::string& name = members.names[id];
        if (!name.empty()) return name;
        const std::string member = variable(id);
        members.declarations += declaration(id, member);
        members.statements += core::text("        ", of, ".", member, " = ", entry, ";\n");
        return name = core::text(of, ".", member);
    }

    void store(SymbolId id) override {
        for (Line* const line : {&row_, &column_}) {
            const auto made = line->values.names.find(id);
            if (made == line->values.names.end()) continue;
            line->stores +=
                core::text("        ", pointer(id), "[", line->place, "] = ", made->second, ";\n");
            return;
        }
        stores_ += core::text("        ", pointer(id), "[at.here] = ", names_.at(id), ";\n");
    }

    std::string inner() override {
        const auto structure = [](const char* name, const Members& members) {
            return core::text("    struct ", name, " {\n", members.declarations, "    };\n");
        };
        const auto loader = [](const char* head, const char* type, const char* name,
                               const Members& members, const char* unused) {
            return core::text("    ", head, "APERTURE_HD ", type, " ", name, " const {\n        ",
                              type, " ", unused, ";\n", members.statements, "        return ",
                              unused, ";\n    }\n");
        };
        const auto part = [](const char* name, const char* sums, const std::string& body) {
            return core::text(
                "    [[gnu::always_inline]] APERTURE_HD void ", name,
                "(const Place& at, const OfRow& of_row, const OfColumn& of_column, const Loaded& "
                "loaded, ",
                sums, ", Columns& columns) const {\n", body,
                "        (void)at, (void)of_row, (void)of_column, (void)loaded, (void)columns;\n");
        };
        const auto finisher = [](const std::string& line, const char* type, const Line& of) {
            const std::string types = core::text("Of", type), of_line = "of_" + line;
            return core::text(
                "    template <class Totals>\n    APERTURE_HD ", type, "Values ", line,
                "_values(long long ", line, ", const ", types, "& ", of_line,
                ", const Totals& totals) const {\n        const kernels::EntryPlace at(", line,
                ");\n        ", type, "Values values;\n", of.values.statements,
                "        (void)at, (void)", of_line,
                ", (void)totals;\n        return values;\n    }\n    APERTURE_HD void store_", line,
                "(long long ", line, ", const ", type, "Values& values) const {\n", of.stores,
                "        (void)", line, ", (void)values;\n    }\n");
        };
        const bool in_parts = is_in_parts(kernel_);
        const std::string rest = core::text(second_calls_, column_terms_, stores_);
        return core::text(
            "    static constexpr long long left = ", left_, ", right = ", right_,
            ";\n    static constexpr int row_sums = ", rows_.count(),
            ", column_sums = ", columns_.count(),
            ";\n    static constexpr bool in_parts = ", in_parts ? "true" : "false",
            ", has_rows = ", row_.values.names.empty() ? "false" : "true",
            ", has_columns = ", column_.values.names.empty() ? "false" : "true", ";\n",
            rows_.structure("template <int lanes>\n    struct Rows"),
            columns_.structure("struct Columns"), structure("OfRow", row_.loaded),
            structure("RowValues", row_.values), structure("OfColumn", column_.loaded),
            structure("ColumnValues", column_.values), structure("Loaded", loaded_), head(),
            loader("", "OfRow", "of_row([[maybe_unused]] long long row)", row_.loaded, "of_row"),
            loader("", "OfColumn", "of_column([[maybe_unused]] long long column)", column_.loaded,
                   "of_column"),
            loader("template <class Place>\n    ", "Loaded", "load(const Place& at)", loaded_,
                   "loaded"),
            finisher("row", "Row", row_), finisher("column", "Column", column_),
            "    template <class Place, class Sums>\n",
            part("first", "Sums& rows",
                 core::text(first_calls_, row_terms_, in_parts ? "" : rest,
                            "        (void)rows;\n")),
            "    }\n", "    template <class Place>\n",
            part("second", "const RowValues& values",
                 core::text(in_parts ? first_calls_ + rest : "", "        (void)values;\n")),
            "    }\n");
    }

    std::vector<LinePart> parts_;
    bool stores_images_ = false;
    std::size_t calls_ = 0;
    LinePart part_{};  // of the call that is added
    SumMembers rows_, columns_;
    Line row_{"row", {}, {}, {}}, column_{"column", {}, {}, {}};
    Members loaded_;
    std::string first_calls_, second_calls_, row_terms_, column_terms_, stores_;
};

}  // namespace

std::unique_ptr<KernelWriter> row_kernel_writer(const Program& program, const Kernel& kernel,
                                                GeneratedKernel& generated) {
    return std::make_unique<RowWriter>(program, kernel, generated);
}

}  // namespace aperture::compose
