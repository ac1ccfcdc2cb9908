// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "aperture/compose/operation.hpp"

/// Array programs written in C++: operators on handles of symbols append calls to a program.
///
///     Builder jacobi("jacobi");
///     auto b = jacobi.input<float>("b", {rows, columns});
///     auto x = jacobi.in_place<float>("x", {rows, columns});
///     auto D = jacobi.input<float>("D");
///     auto R = jacobi.stencil<float>("R", Border::replicate, {{{0, -1}, 0.1}, {{0, 1}, 0.1}});
///     jacobi.loop(10, [&] {
///         auto r = b - R * x;
///         x = D * r;
///     });
///     Program program = jacobi.returns(x);
///
/// Operands are checked when a call is appended. Errors are InvalidArgument and begin with file and
/// line of the call. The body of a loop runs once, when the program is built; a `for` of C++
/// appends its calls each time.
namespace aperture::compose {

class Builder;

/// A line of C++: the one that calls, where here() is a default argument.
struct SourceLine {
    const char* file = nullptr;
    int line = 0;  ///< 0: unknown
    static constexpr SourceLine here(const char* file = __builtin_FILE(),
                                     int line = __builtin_LINE()) {
        return {file, line};
    }
};

class Handle;
class Value;

/// What stands in an expression: a symbol, or a number of the type of the first symbol beside it
/// (other than a condition). Conversions are implicit, since they note the line.
class Operand {
  public:
    Operand(const Handle& symbol, SourceLine line = SourceLine::here());
    template <std::floating_point T>
    Operand(T number, SourceLine line = SourceLine::here())
        : number_(static_cast<double>(number)), line_(line) {}
    template <std::integral T>
    requires(!std::same_as<T, bool>) Operand(T number, SourceLine line = SourceLine::here())
        : number_(static_cast<std::int64_t>(number)), line_(line) {}
    bool is_stencil() const;

  private:
    friend class Builder;
    bool is_symbol() const { return builder_ != nullptr; }

    Builder* builder_ = nullptr;
    SymbolId id_ = -1;
    std::variant<double, std::int64_t> number_;
    SourceLine line_;
};

/// A call with one result, of any operation that the builder's registry has.
Value call(std::string_view operation, std::initializer_list<Operand> operands,
           Attributes attributes = {});
/// A call with several: `auto [u, v] = call<2>("gradient", {x})`.
template <std::size_t results>
std::array<Value, results> call(std::string_view operation, std::initializer_list<Operand> operands,
                                Attributes attributes = {});

/// A symbol of a builder, which must outlive it.
class Handle {
  public:
    friend Value operator+(const Operand& a, const Operand& b);
    friend Value operator-(const Operand& a, const Operand& b);
    /// Of a stencil and an array, the stencil's product.
    friend Value operator*(const Operand& a, const Operand& b);
    friend Value operator/(const Operand& a, const Operand& b);
    friend Value operator-(const Operand& a);
    friend Value operator<(const Operand& a, const Operand& b);
    friend Value operator<=(const Operand& a, const Operand& b);
    friend Value operator>(const Operand& a, const Operand& b);
    friend Value operator>=(const Operand& a, const Operand& b);
    friend Value operator==(const Operand& a, const Operand& b);
    friend Value operator!=(const Operand& a, const Operand& b);
    /// Both operands are computed.
    friend Value operator&&(const Operand& a, const Operand& b);
    friend Value operator||(const Operand& a, const Operand& b);
    friend Value operator!(const Operand& a);
    friend Value min(const Operand& a, const Operand& b);
    friend Value max(const Operand& a, const Operand& b);
    friend Value abs(const Operand& a);
    friend Value sqrt(const Operand& a);
    /// a * b + c, rounded once.
    friend Value multiply_add(const Operand& a, const Operand& b, const Operand& c);
    friend Value select(const Operand& condition, const Operand& a, const Operand& b);
    friend Value sum(const Operand& x);
    friend Value dot(const Operand& x, const Operand& y);
    /// Entries where row + column is even, or odd; the others are zero.
    friend Value red(const Operand& x);
    friend Value black(const Operand& x);
    /// What a variable holds now.
    friend Value copy(const Operand& x);

  protected:
    Handle(Builder& builder, SymbolId id) : builder_(&builder), id_(id) {}
    Handle(const Handle&) = default;
    Handle& operator=(const Handle&) = default;
    ~Handle() = default;
    void assign(const Operand& value) const;

  private:
    friend class Builder;
    friend class Operand;

    Builder* builder_;
    SymbolId id_;
};

/// What never changes: an input, a number, a stencil, or the result of a call. Copies are handles
/// of the same symbol.
class Value : public Handle {
  public:
    Value(const Value&) = default;
    Value& operator=(const Value&) = delete;
    ~Value() = default;

  private:
    friend class Builder;
    using Handle::Handle;
};

/// A symbol that can be overwritten. There is one handle of it, so that no other name means the
/// same memory; `copy` keeps what it holds.
class Variable : public Handle {
  public:
    Variable(const Variable&) = delete;
    ~Variable() = default;
    /// Appends a copy into the symbol, of the same type.
    Variable& operator=(const Operand& value);
    Variable& operator=(const Variable& value);

  private:
    friend class Builder;
    using Handle::Handle;
};

template <class To>
Value convert(const Operand& x) {
    return call("convert", {x}, {{"to", std::string(name_of(dtype_of<To>()))}});
}

class Builder {
  public:
    /// Keeps a copy of the registry.
    explicit Builder(std::string name, Registry registry = {},
                     SourceLine line = SourceLine::here());
    Builder(const Builder&) = delete;
    Builder& operator=(const Builder&) = delete;
    ~Builder() = default;

    /// An array, or a scalar without extents, that the caller sets and the program does not write.
    template <class T>
    Value input(const std::string& name, const std::vector<index_t>& extents = {},
                SourceLine line = SourceLine::here()) {
        return {*this, add(Source::input, name, dtype_of<T>(), extents, line)};
    }
    /// One that the caller sets and the program overwrites.
    template <class T>
    Variable in_place(const std::string& name, const std::vector<index_t>& extents = {},
                      SourceLine line = SourceLine::here()) {
        return {*this, add(Source::in_place, name, dtype_of<T>(), extents, line)};
    }
    /// One that the program sets to a value first, of whose type it is.
    Variable local(const std::string& name, const Operand& value);

    /// Offsets have a number for each dimension of the arrays that the stencil multiplies:
    /// {{{-1}, 0.5}, {{1}, 0.5}} for vectors, {{{0, 0, -1}, 1}} for arrays of rank 3.
    template <class T>
    Value stencil(const std::string& name, Border border,
                  const std::vector<std::pair<Offset, double>>& weights,
                  SourceLine line = SourceLine::here()) {
        return {*this, add_stencil(name, dtype_of<T>(), border, weights, line)};
    }
    /// A number of type T, for where no symbol beside it says of which type it is.
    template <class T>
    Value number(const Operand& number) {
        return {*this, number_of(dtype_of<T>(), number)};
    }
    /// Gives a result or a number a name, for the program's text and for `explain`.
    Value name(const std::string& name, const Value& value, SourceLine line = SourceLine::here());

    /// The body `count` times, which is a number or `number<std::int64_t>`.
    void loop(const Operand& count, const std::function<void()>& body);
    /// The same with the index of the repetition, a number of type i64.
    void loop(const Operand& count, const std::function<void(Value)>& body);
    /// The body while the condition, which the body sets, holds; an error of a run after `limit`
    /// times.
    void repeat_while(const Variable& condition, std::int64_t limit,
                      const std::function<void()>& body, SourceLine line = SourceLine::here());
    void when(
        const Operand& condition, const std::function<void()>& body,
        const std::function<void()>& otherwise = [] {});
    /// Leaves the innermost loop if the condition holds.
    void stop_if(const Operand& condition);

    /// Ends the program, which returns these values.
    template <class... More>
    Program returns(const Operand& first, const More&... more) {
        return finish({first, Operand(more)...});
    }

  private:
    friend class Operand;
    friend class Handle;
    friend Value call(std::string_view, std::initializer_list<Operand>, Attributes);
    template <std::size_t results>
    friend std::array<Value, results> call(std::string_view, std::initializer_list<Operand>,
                                           Attributes);

    /// In the program of the operands' symbols.
    static std::vector<Value> call(std::string_view operation,
                                   std::initializer_list<Operand> operands, Attributes attributes,
                                   std::size_t results);

    std::vector<Value> append(std::string_view operation, std::initializer_list<Operand> operands,
                              Attributes attributes, std::size_t results);
    void append(decltype(Statement::what) what, SourceLine line);
    SymbolId add(Source source, const std::string& name, Dtype dtype,
                 const std::vector<index_t>& extents, SourceLine line);
    SymbolId add_stencil(const std::string& name, Dtype dtype, Border border,
                         const std::vector<std::pair<Offset, double>>& weights, SourceLine line);
    SymbolId add(Symbol symbol);
    void expects_name(const std::string& name) const;
    void expects_unfinished() const;
    SymbolId number_of(Dtype dtype, const Operand& number);
    SymbolId known(const Operand& number, Dtype dtype);
    std::vector<SymbolId> symbols(std::initializer_list<Operand> operands);
    SymbolId condition(const Operand& operand, std::string_view of);
    std::string text(std::string_view operation, std::initializer_list<Operand> operands) const;
    void assign(SymbolId variable, const Operand& value);
    Block block(const std::function<void()>& body, bool repeats, SourceLine line);
    Program finish(std::initializer_list<Operand> values);

    Program program_;  ///< Symbols without a name get one at the end.
    Registry registry_;
    std::set<SymbolId> variables_;
    std::map<std::pair<Dtype, std::uint64_t>, SymbolId> known_;  ///< by type and bits
    std::vector<Block> blocks_{1};  ///< that are open, from the outermost
    int loops_ = 0;                 ///< that are open
    bool finished_ = false;
};

template <std::size_t results>
std::array<Value, results> call(std::string_view operation, std::initializer_list<Operand> operands,
                                Attributes attributes) {
    const auto all = Builder::call(operation, operands, std::move(attributes), results);
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return std::array<Value, results>{all[i]...};
    }
    (std::make_index_sequence<results>{});
}

}  // namespace aperture::compose
