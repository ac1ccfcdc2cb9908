// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/text_operation.hpp"

#include <array>
#include <set>
#include <string_view>

#include "aperture/core/error.hpp"
#include "libcompose/emit.hpp"
#include "libcompose/host_compiler.hpp"
#include "libcompose/operations/call_attributes.hpp"
#include "libcompose/operations/element_operations.hpp"
#include "libcompose/operations/text_operation.hpp"

namespace aperture::compose {

std::span<const core::KernelText> kernel_texts();

namespace {

using core::expects;

/// What compilers call the file of an operation's body.
std::string file_of(const std::string& operation) { return "operation " + operation; }

[[noreturn]] void refuse(const std::string& operation, std::string_view message) {
    constexpr std::size_t most = 2000;
    throw core::InvalidArgument(
        core::text("the compiler refuses the body of ", operation, ":\n", message.substr(0, most)));
}

/// The lines of a compiler's log about a file.
std::string lines_about(const std::string& file, std::string_view log) {
    std::string lines;
    while (!log.empty()) {
        const std::string_view line = log.substr(0, log.find('\n'));
        log.remove_prefix(std::min(line.size() + 1, log.size()));
        if (line.starts_with(file + ":") || line.starts_with(file + "(")) {
            lines += std::string(line) + '\n';
        }
    }
    return lines;
}

class TextOperation : public Operation {
  public:
    explicit TextOperation(OperationText text) : text_(std::move(text)) {
        std::set<std::string> names{"at", "T"};
        const auto add = [&](const std::string& name) {
            expects(is_identifier(name), "'", name, "' cannot be a name in an operation");
            expects(names.insert(name).second, name, " has two meanings in an operation");
        };
        for (const TextOperand& operand : text_.operands) {
            add(operand.name);
            generic_ = generic_ || !operand.dtype;
        }
        expects(!text_.operands.empty() && text_.operands.size() <= most_operands,
                "an operation with ", text_.operands.size(), " operands; expected 1 to ",
                most_operands);
        expects(!text_.results.empty() && text_.results.size() <= most_operands,
                "an operation with ", text_.results.size(), " results; expected 1 to ",
                most_operands);
        expects(!text_.combination || text_.results.size() == 1,
                "an operation that combines entries has one result");
        for (const TextResult& result : text_.results) {
            if (text_.results.size() > 1) add(result.name);
            expects(result.dtype || generic_,
                    "the type of a result is that of operands, whose types are all stated");
        }
    }

    Match match(const CallSite& site) const override {
        const std::string& name = site.call.operation;
        const CallAttributes none(site, {});
        expects(site.operands() == text_.operands.size(), name, " has ", text_.operands.size(),
                text_.operands.size() == 1 ? " operand, not " : " operands, not ", site.operands());
        const Type* shape = nullptr;
        std::optional<Type> of;
        Match match;
        for (std::size_t i = 0; i < site.operands(); ++i) {
            const TextOperand& operand = text_.operands[i];
            const Type& type = site.type(i);
            expects(type.kind == Kind::array || (type.is_scalar() && !operand.halo), operand.name,
                    " of ", name, " is of type ", text_of(type));
            expects(!operand.halo || type.rank == 2, operand.name, " of ", name, " is of type ",
                    text_of(type), "; expected an array of rank 2");
            if (operand.dtype) {
                expects(type.dtype == *operand.dtype, operand.name, " of ", name, " is of type ",
                        text_of(type), "; expected ", name_of(*operand.dtype));
            } else {
                if (!of) of = type;
                expects(type.dtype == of->dtype, name, " of ", text_of(*of), " and ", text_of(type),
                        ": their numbers have different types");
            }
            match.accesses.push_back(operand.halo.value_or(Access{}));
            if (type.kind != Kind::array) continue;
            if (shape == nullptr) shape = &type;
            expects(type.rank == shape->rank && type.extent == shape->extent, name, " of ",
                    text_of(*shape), " and ", text_of(type), ": their extents differ");
        }
        expects(!text_.combination || site.type(0).kind == Kind::array, name, " of ",
                text_of(site.type(0)), "; expected an array");
        for (const TextResult& result : text_.results) {
            // The constructor has seen that there is such an operand.
            const Dtype dtype = result.dtype.value_or(of.value_or(Type()).dtype);
            match.results.push_back(scalar(dtype));
            if (shape == nullptr || text_.combination) continue;
            match.results.back() = *shape;
            match.results.back().dtype = dtype;
        }
        match.level = text_.combination ? Level::sum : Level::element;
        match.combination = text_.combination.value_or(Combination::add);
        expects(!text_.combination || match.combination == Combination::add ||
                    !(is_complex(match.results[0].dtype)),
                name, " orders complex numbers");
        match.flops = text_.flops;
        return match;
    }

    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string> results) const override {
        bool scalars = true;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            scalars = scalars && site.type(i).is_scalar();
        }
        std::string call = core::text(function(site), "<", type_name(site), ">(",
                                      scalars ? "kernels::NoPlace()" : "at");
        for (std::size_t i = 0; i < operands.size(); ++i) {
            call += ", " + value(i, operands[i]);
        }
        for (const std::string& result : results) {
            if (results.size() > 1) call += ", " + result;
        }
        return {call + ")", definition(site), {}};
    }

    RowFunction row_function(const CallSite& site) const override {
        HostSource source{row_text(site),
                          {"aperture::compose::generated::row"},
                          {core::kernel_texts(), kernel_texts()}};
        HostCompiled compiled;
        try {
            compiled = compile_on_host(source);
        } catch (const core::CompileError& error) {
            refuse(site.call.operation, error.log());
        }
        expects(compiled.loaded != nullptr, site.call.operation,
                " is a text, which needs a compiler: ", compiled.reason);
        using Row = void(const kernels::Walk&, index_t, index_t, int, const void* const*,
                         const void* const*, void* const*);
        return [library = compiled.loaded, walk = walk_over(elements(site)),
                row = compiled.loaded->function<Row>(source.functions[0])](
                   const RowPiece& piece, std::span<const RowOperand> operands,
                   std::span<void* const> results) {
            std::array<const void*, most_operands> here{}, all{};
            for (std::size_t i = 0; i < operands.size(); ++i) {
                here[i] = operands[i].here;
                all[i] = operands[i].all;
            }
            row(walk, piece.plane * walk.rows_of_plane + piece.row, piece.column, piece.count,
                here.data(), all.data(), results.data());
        };
    }

  private:
    static std::string function(const CallSite& site) {
        return core::text("text_", site.call.operation);
    }
    /// What T is.
    std::string type_name(const CallSite& site) const {
        for (std::size_t i = 0; i < text_.operands.size(); ++i) {
            if (!text_.operands[i].dtype) return std::string(cpp_type(site.type(i).dtype));
        }
        return "void";
    }
    static std::string type_of(const std::optional<Dtype>& dtype) {
        return dtype ? std::string(cpp_type(*dtype)) : "T";
    }
    std::string value(std::size_t i, const std::string& operand) const {
        const TextOperand& of = text_.operands[i];
        if (!of.halo) return operand;
        return core::text(
            "bodies::neighbours<bodies::", of.border == Border::zero ? "Zero" : "Replicate", ", ",
            of.halo->left, ", ", of.halo->right, ">(at, ", operand, ")");
    }
    std::string definition(const CallSite& site) const {
        const bool several = text_.results.size() > 1;
        std::string parameters = "const Place& at";
        std::string types = "class T, class Place";
        for (const TextOperand& operand : text_.operands) {
            if (operand.halo) {
                types += ", class Of_" + operand.name;
                parameters += core::text(", Of_", operand.name, " ", operand.name);
            } else {
                parameters += core::text(", ", type_of(operand.dtype), " ", operand.name);
            }
        }
        for (const TextResult& result : text_.results) {
            if (several) parameters += core::text(", ", type_of(result.dtype), "& ", result.name);
        }
        return core::text("template <", types, ">\nAPERTURE_HD ",
                          several ? "void" : type_of(text_.results[0].dtype), " ", function(site),
                          "(", parameters, ") {\n    (void)at;\n#line 1 \"",
                          file_of(site.call.operation), "\"\n", text_.body,
                          "\n#line 1 \"kernels\"\n}\n");
    }

    /// What the operation runs over.
    Type elements(const CallSite& site) const {
        return text_.combination ? site.type(0) : site.program[site.call.results[0]].type;
    }
    /// A function for a piece of a row.
    std::string row_text(const CallSite& site) const {
        std::vector<std::string> operands, results;
        for (std::size_t i = 0; i < site.operands(); ++i) {
            const std::string pointer =
                core::text("static_cast<const ", cpp_type(site.type(i).dtype), "*>(",
                           text_.operands[i].halo ? "all" : "here", "[", i, "])");
            operands.push_back(text_.operands[i].halo ? pointer : pointer + "[i]");
        }
        for (std::size_t i = 0; i < text_.results.size(); ++i) {
            const Dtype dtype = site.program[site.call.results[i]].type.dtype;
            results.push_back(core::text("static_cast<", cpp_type(dtype), "*>(results[", i, "])[",
                                         text_.combination ? "at.lane" : "i", "]"));
        }
        const Code of_call = code(site, operands, results);
        std::string statement = of_call.expression;
        if (text_.combination) {
            statement = core::text(results[0], " = bodies::", name_of(*text_.combination), "::of(",
                                   results[0], ", ", of_call.expression, ")");
        } else if (results.size() == 1) {
            statement = core::text(results[0], " = ", of_call.expression);
        }
        return core::text(
            "#define APERTURE_COMPOSE_CPU\n#include \"libcompose/kernels/elements.cuh\"\n"
            "namespace aperture::compose::generated {\n",
            of_call.definitions,
            "void row(const kernels::Walk& walk, long long walk_row, long long column, int count,\n"
            "         const void* const* here, const void* const* all, void* const* results) {\n"
            "    const kernels::Place<false> first(walk, walk_row);\n"
            "    for (int i = 0; i < count; ++i) {\n"
            "        const auto at = first.moved(column + i, i % kernels::lanes);\n        ",
            statement, ";\n    }\n}\n}\n");
    }

    OperationText text_;
    bool generic_ = false;
};

}  // namespace

std::shared_ptr<const Operation> text_operation(OperationText text) {
    return std::make_shared<TextOperation>(std::move(text));
}

void refuse_text(const Plan& plan, const core::CompileError& error) {
    std::string names;
    for (const Kernel* kernel : plan.kernels()) {
        for (const PlannedCall& planned : kernel->calls) {
            if (dynamic_cast<const TextOperation*>(planned.operation.get()) == nullptr) continue;
            const std::string& name = planned.call->operation;
            const std::string lines = lines_about(file_of(name), error.log());
            if (!lines.empty()) refuse(name, lines);
            names += (names.empty() ? "" : " or ") + name;
        }
    }
    // Braces that do not match are errors elsewhere.
    if (!names.empty()) refuse(names, error.log());
    throw error;
}

}  // namespace aperture::compose
