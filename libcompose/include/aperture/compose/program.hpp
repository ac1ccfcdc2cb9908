// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aperture/compose/type.hpp"

/// Array programs: a table of symbols, and statements that call operations on them (Anderson 2014,
/// section 5.5). All front ends make this form, and everything else reads it.
namespace aperture::compose {

/// A place in the source of a program, from 1; 0 is unknown.
struct Location {
    int line = 0;
    int column = 0;
    friend bool operator==(const Location&, const Location&) = default;
};

/// How a symbol's first value comes about.
enum class Source {
    input,     ///< by the caller; never written
    in_place,  ///< by the caller, whose memory the program overwrites
    local,     ///< by the program
    known,     ///< constants, numbers and stencils
};

/// The index of a symbol in its program.
using SymbolId = int;

struct Symbol {
    std::string name;
    Type type;
    Source source = Source::local;
    std::int64_t value = 0;          ///< of a constant
    double number = 0;               ///< of a scalar that is known
    Stencil stencil{};               ///< of a stencil
    std::vector<index_t> offsets{};  ///< of diagonals: columns to the right; of images', in C order
    Location where{};
};

/// Words and numbers that select what an operation does: `median<size = 5>`.
using Attributes = std::map<std::string, std::variant<double, std::string>>;

struct Statement;
using Block = std::vector<Statement>;

/// results = operation(operands)
struct Call {
    std::string operation;
    Attributes attributes{};
    std::vector<SymbolId> results;
    std::vector<SymbolId> operands;
};
/// The body `count` times; `variable` is 0, 1, ...
struct Loop {
    SymbolId variable;
    SymbolId count;  ///< a constant
    Block body;
};
/// The body while `condition`, which it sets, holds; an error after `limit` times.
struct While {
    SymbolId condition;
    std::int64_t limit;
    Block body;
};
struct If {
    SymbolId condition;
    Block body;
    Block otherwise;
};
/// Leaves the innermost loop.
struct Break {};
/// The last statement of a program.
struct Return {
    std::vector<SymbolId> values;
};

struct Statement {
    std::variant<Call, Loop, While, If, Break, Return> what;
    Location where{};
};

inline constexpr std::size_t most_symbols = 4096;

class Program {
  public:
    std::string name;
    std::vector<Symbol> symbols;
    Block statements;
    /// Whether conditions have numbers of values that each go their own way, those of a Sweep. Not
    /// in the text.
    bool has_own_ways = false;

    const Symbol& operator[](SymbolId id) const { return symbols[static_cast<std::size_t>(id)]; }
    /// Returns -1 where there is no such symbol.
    SymbolId find(std::string_view of_name) const;
    /// Throws InvalidArgument if the name is taken or no identifier, or there are most_symbols.
    SymbolId add(Symbol symbol);
};

/// The text of a program; `parse` makes an equal program of it.
std::string print(const Program& program);

/// Throws InvalidArgument with line and column.
Program parse(std::string_view text);

/// Whether a name may be used: a letter or underscore, then letters, digits and underscores, at
/// most 64 in all, and no word of the language.
bool is_identifier(std::string_view name);

}  // namespace aperture::compose
