// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/program.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "aperture/core/error.hpp"
#include "libcompose/words.hpp"

namespace aperture::compose {
namespace {

/// The shortest text that is read back as the same number.
std::string text_of(double number) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return {digits.data(), end};
}

/// "first, second"
template <class Range, class Text>
std::string list(const Range& range, const Text& text) {
    std::string all;
    for (const auto& one : range) {
        if (!all.empty()) all += ", ";
        all += text(one);
    }
    return all;
}

class Printer {
  public:
    explicit Printer(const Program& program) : program_(program) {}

    std::string text() {
        all_ = "program " + program_.name + " {\n";
        depth_ = 1;
        for (const Symbol& symbol : program_.symbols) line(declaration(symbol));
        depth_ = 0;
        print(program_.statements);
        return all_ + "}\n";
    }

  private:
    void line(const std::string& text) { all_ += std::string(4 * depth_, ' ') + text + "\n"; }

    static std::string declaration(const Symbol& symbol) {
        const Type& type = symbol.type;
        if (type.kind == Kind::constant) {
            return core::text("constant ", symbol.name, " = ", symbol.value, ";");
        }
        if (symbol.source == Source::known && type.kind == Kind::scalar) {
            return core::text("number ", symbol.name, ": ", name_of(type.dtype), " = ",
                              text_of(symbol.number), ";");
        }
        if (type.kind == Kind::stencil) {
            const Stencil& stencil = symbol.stencil;
            std::string entries;
            for (std::size_t i = 0; i < stencil.offsets.size(); ++i) {
                if (i > 0) entries += ", ";
                entries += core::text(compose::text_of(stencil.offsets[i]), ": ",
                                      text_of(stencil.weights[i]));
            }
            return core::text("stencil ", symbol.name, ": ", name_of(type.dtype), " ",
                              border_words[static_cast<std::size_t>(stencil.border)], " {", entries,
                              "};");
        }
        std::string text = core::text(source_words[static_cast<std::size_t>(symbol.source)], ' ',
                                      symbol.name, ": ", compose::text_of(type));
        if (!symbol.offsets.empty()) {
            text += " at {" +
                    list(symbol.offsets, [](index_t offset) { return std::to_string(offset); }) +
                    "}";
        }
        return text + ";";
    }

    std::string names(const std::vector<SymbolId>& ids) const {
        return list(ids, [&](SymbolId id) { return program_[id].name; });
    }

    static std::string attributes(const Attributes& attributes) {
        if (attributes.empty()) return "";
        const auto text = [](const auto& one) {
            const auto* const word = std::get_if<std::string>(&one.second);
            return core::text(one.first, " = ",
                              word != nullptr ? *word : text_of(std::get<double>(one.second)));
        };
        return core::text('<', list(attributes, text), '>');
    }

    void print(const Block& block) {
        ++depth_;
        for (const Statement& statement : block) {
            std::visit([&](const auto& what) { print(what); }, statement.what);
        }
        --depth_;
    }
    void print(const Call& call) {
        line(names(call.results) + " = " + call.operation + attributes(call.attributes) + "(" +
             names(call.operands) + ");");
    }
    void print(const Loop& loop) {
        line("for " + program_[loop.variable].name + " in " + program_[loop.count].name + " {");
        print(loop.body);
        line("}");
    }
    void print(const While& loop) {
        line(core::text("while ", program_[loop.condition].name, " limit ", loop.limit, " {"));
        print(loop.body);
        line("}");
    }
    void print(const If& branch) {
        line("if " + program_[branch.condition].name + " {");
        print(branch.body);
        if (!branch.otherwise.empty()) {
            line("} else {");
            print(branch.otherwise);
        }
        line("}");
    }
    void print(const Break&) { line("break;"); }
    void print(const Return& result) { line("return " + names(result.values) + ";"); }

    const Program& program_;
    std::string all_;
    std::size_t depth_ = 0;
};

}  // namespace

bool is_identifier(std::string_view name) {
    constexpr std::size_t longest = 64;
    const auto is_letter = [](char c) {
        return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
    };
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    return !name.empty() && name.size() <= longest && is_letter(name.front()) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return is_letter(c) || is_digit(c); }) &&
           std::find(reserved_words.begin(), reserved_words.end(), name) == reserved_words.end();
}

SymbolId Program::find(std::string_view of_name) const {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        if (symbols[i].name == of_name) return static_cast<SymbolId>(i);
    }
    return -1;
}

SymbolId Program::add(Symbol symbol) {
    core::expects(is_identifier(symbol.name), "'", symbol.name, "' cannot be a name");
    core::expects(find(symbol.name) < 0, "there are two symbols ", symbol.name);
    core::expects(symbols.size() < most_symbols, "a program with more than ", most_symbols,
                  " symbols");
    symbols.push_back(std::move(symbol));
    return static_cast<SymbolId>(symbols.size() - 1);
}

std::string print(const Program& program) { return Printer(program).text(); }

}  // namespace aperture::compose
