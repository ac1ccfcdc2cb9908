// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/build.hpp"

#include <bit>
#include <cmath>
#include <optional>

#include "aperture/core/error.hpp"
#include "libcompose/check.hpp"
#include "libcompose/tidy.hpp"
#include "libcompose/words.hpp"

namespace aperture::compose {
namespace {

/// Adds file and line to the message of an error.
template <class Action>
auto at(SourceLine line, const Action& action) {
    try {
        return action();
    } catch (const core::InvalidArgument& error) {
        if (line.line == 0) throw;
        throw core::InvalidArgument(core::text(line.file, ":", line.line, ": ", error.what()));
    }
}

Location location(SourceLine line) { return {line.line, 0}; }

/// The bits of a number in its type.
std::uint64_t bits_of(double number, Dtype dtype) {
    return dtype == Dtype::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(number))
                               : std::bit_cast<std::uint64_t>(number);
}

bool is_finite(double number, Dtype dtype) {
    return std::isfinite(dtype == Dtype::f32 ? static_cast<float>(number) : number);
}

/// What a program's text can say.
void expects_text(const Attributes& attributes) {
    for (const auto& [name, value] : attributes) {
        core::expects(is_identifier(name), "'", name, "' cannot be the name of an attribute");
        const auto* const word = std::get_if<std::string>(&value);
        core::expects(
            word != nullptr ? is_identifier(*word) : std::isfinite(std::get<double>(value)),
            "the attribute ", name, " is neither a word nor a finite number");
    }
}

}  // namespace

Operand::Operand(const Handle& symbol, SourceLine line)
    : builder_(symbol.builder_), id_(symbol.id_), line_(line) {}

bool Operand::is_stencil() const {
    return is_symbol() && builder_->program_[id_].type.kind == Kind::stencil;
}

void Handle::assign(const Operand& value) const { builder_->assign(id_, value); }

Variable& Variable::operator=(const Operand& value) {
    assign(value);
    return *this;
}
Variable& Variable::operator=(const Variable& value) {
    // An assignment has no default argument that could tell the line.
    assign({value, {}});
    return *this;
}

Builder::Builder(std::string name, Registry registry, SourceLine line)
    : registry_(std::move(registry)) {
    at(line, [&] { core::expects(is_identifier(name), "'", name, "' cannot be a name"); });
    program_.name = std::move(name);
}

SymbolId Builder::add(Symbol symbol) {
    program_.symbols.push_back(std::move(symbol));
    return static_cast<SymbolId>(program_.symbols.size() - 1);
}
void Builder::expects_name(const std::string& name) const {
    core::expects(is_identifier(name), "'", name, "' cannot be a name");
    core::expects(program_.find(name) < 0, "there are two symbols ", name);
}
void Builder::expects_unfinished() const {
    core::expects(!finished_, program_.name, " has returned: nothing can follow");
}

SymbolId Builder::add(Source source, const std::string& name, Dtype dtype,
                      const std::vector<index_t>& extents, SourceLine line) {
    return at(line, [&] {
        expects_unfinished();
        expects_name(name);
        Symbol symbol;
        symbol.name = name;
        symbol.type = extents.empty() ? scalar(dtype) : array(dtype, extents);
        symbol.source = source;
        symbol.where = location(line);
        const SymbolId id = add(std::move(symbol));
        if (source == Source::in_place) variables_.insert(id);
        return id;
    });
}

SymbolId Builder::add_stencil(const std::string& name, Dtype dtype, Border border,
                              const std::vector<std::pair<Offset, double>>& weights,
                              SourceLine line) {
    return at(line, [&] {
        expects_unfinished();
        expects_name(name);
        core::expects(!weights.empty(), "the stencil ", name, " has no weights");
        Symbol symbol;
        symbol.name = name;
        symbol.type = type_of(Kind::stencil, dtype, {});
        symbol.source = Source::known;
        symbol.where = location(line);
        symbol.stencil.border = border;
        for (const auto& [offset, weight] : weights) {
            core::expects(is_finite(weight, dtype), "the stencil ", name, " has a weight of ",
                          weight);
            core::expects(offset.rank == weights.front().first.rank, "the stencil ", name,
                          " has offsets ", text_of(weights.front().first), " and ", text_of(offset),
                          ", of arrays of different ranks");
            symbol.stencil.offsets.push_back(offset);
            symbol.stencil.weights.push_back(weight);
        }
        return add(std::move(symbol));
    });
}

Variable Builder::local(const std::string& name, const Operand& value) {
    at(value.line_, [&] { expects_name(name); });
    const SymbolId id = append("copy", {value}, {}, 1)[0].id_;
    program_.symbols[static_cast<std::size_t>(id)].name = name;
    variables_.insert(id);
    return {*this, id};
}

Value Builder::name(const std::string& name, const Value& value, SourceLine line) {
    return at(line, [&]() -> Value {
        expects_unfinished();
        expects_name(name);
        core::expects(value.builder_ == this, "a value of another program cannot be named ", name);
        std::string& its_name = program_.symbols[static_cast<std::size_t>(value.id_)].name;
        core::expects(its_name.empty(), its_name, " has a name already");
        its_name = name;
        return value;
    });
}

SymbolId Builder::number_of(Dtype dtype, const Operand& number) {
    return at(number.line_, [&] {
        expects_unfinished();
        core::expects(!number.is_symbol(), "expected a number");
        return known(number, dtype);
    });
}

SymbolId Builder::known(const Operand& number, Dtype dtype) {
    const auto* const integer = std::get_if<std::int64_t>(&number.number_);
    const double value =
        integer != nullptr ? static_cast<double>(*integer) : std::get<double>(number.number_);
    Symbol symbol;
    symbol.source = Source::known;
    symbol.where = location(number.line_);
    if (dtype == Dtype::i64) {
        core::expects(integer != nullptr, value, " is not an integer");
        symbol.type = {Kind::constant, Dtype::i64, 0, {}};
        symbol.value = *integer;
    } else {
        core::expects(dtype == Dtype::f32 || dtype == Dtype::f64, "the number ", value,
                      " cannot be of type ", name_of(dtype));
        core::expects(is_finite(value, dtype), "the number ", value, " is not finite as ",
                      name_of(dtype));
        symbol.type = scalar(dtype);
        symbol.number = value;
    }
    const auto key = std::pair(dtype, dtype == Dtype::i64 ? std::bit_cast<std::uint64_t>(*integer)
                                                          : bits_of(value, dtype));
    const auto found = known_.find(key);
    return found != known_.end() ? found->second : known_[key] = add(std::move(symbol));
}

std::vector<SymbolId> Builder::symbols(std::initializer_list<Operand> operands) {
    std::optional<Dtype> of_numbers;
    for (const Operand& operand : operands) {
        if (!operand.is_symbol()) continue;
        core::expects(operand.builder_ == this, "operands of two programs, ", program_.name,
                      " and ", operand.builder_->program_.name);
        const Dtype dtype = program_[operand.id_].type.dtype;
        if (!of_numbers && dtype != Dtype::boolean) of_numbers = dtype;
    }
    std::vector<SymbolId> ids;
    for (const Operand& operand : operands) {
        core::expects(operand.is_symbol() || of_numbers,
                      "no operand says of which type a number is; builder.number<float>(...) does");
        ids.push_back(operand.is_symbol() ? operand.id_ : known(operand, *of_numbers));
    }
    return ids;
}

/// "multiply(b, 0.5, a value of line 12)"
std::string Builder::text(std::string_view operation,
                          std::initializer_list<Operand> operands) const {
    std::string all;
    for (const Operand& operand : operands) {
        if (!all.empty()) all += ", ";
        if (!operand.is_symbol()) {
            all += std::visit([](auto number) { return core::text(number); }, operand.number_);
            continue;
        }
        const Symbol& symbol = operand.builder_->program_[operand.id_];
        all +=
            symbol.name.empty() ? core::text("a value of line ", symbol.where.line) : symbol.name;
    }
    return core::text(operation, '(', all, ')');
}

std::vector<Value> Builder::call(std::string_view operation,
                                 std::initializer_list<Operand> operands, Attributes attributes,
                                 std::size_t results) {
    for (const Operand& operand : operands) {
        if (operand.is_symbol()) {
            return operand.builder_->append(operation, operands, std::move(attributes), results);
        }
    }
    return at(operands.size() > 0 ? operands.begin()->line_ : SourceLine{},
              [&]() -> std::vector<Value> {
                  throw core::InvalidArgument(
                      core::text(operation, " of numbers alone is of no program"));
              });
}

std::vector<Value> Builder::append(std::string_view operation,
                                   std::initializer_list<Operand> operands, Attributes attributes,
                                   std::size_t results) {
    const SourceLine line = operands.begin()->line_;
    return at(line, [&] {
        expects_unfinished();
        Call call{std::string(operation), std::move(attributes), {}, {}};
        std::vector<Type> types;
        try {
            expects_text(call.attributes);
            core::expects(operands.size() <= most_operands, "more than ", most_operands,
                          " operands");
            call.operands = symbols(operands);
            types = registry_.find(operation)->match({program_, call}).results;
            core::expects(types.size() == results, operation, " has ", types.size(),
                          " results, not ", results);
        } catch (const core::InvalidArgument& error) {
            throw core::InvalidArgument(core::text(text(operation, operands), ": ", error.what()));
        }
        std::vector<Value> values;
        for (const Type& type : types) {
            Symbol symbol;
            symbol.type = type;
            symbol.where = location(line);
            const SymbolId id = add(std::move(symbol));
            call.results.push_back(id);
            const Value value(*this, id);
            values.push_back(value);
        }
        append(std::move(call), line);
        return values;
    });
}

void Builder::append(decltype(Statement::what) what, SourceLine line) {
    blocks_.back().push_back({std::move(what), location(line)});
}

void Builder::assign(SymbolId variable, const Operand& value) {
    at(value.line_, [&] {
        expects_unfinished();
        const Symbol& to = program_[variable];
        const Operand operand =
            value.is_symbol() ? value : Operand(Value(*this, known(value, to.type.dtype)));
        Call copy{"copy", {}, {variable}, symbols({operand})};
        const Type type = registry_.find(copy.operation)->match({program_, copy}).results[0];
        core::expects(type == to.type, to.name, " is of type ", text_of(to.type),
                      "; what is assigned is of type ", text_of(type));
        append(std::move(copy), value.line_);
    });
}

Block Builder::block(const std::function<void()>& body, bool repeats, SourceLine line) {
    at(line, [&] {
        core::expects(blocks_.size() <= static_cast<std::size_t>(deepest_block),
                      "blocks are nested too deeply");
    });
    const std::size_t outer = blocks_.size();
    const int loops = loops_;
    blocks_.emplace_back();
    loops_ += repeats ? 1 : 0;
    const auto close = [&] {
        Block closed = std::move(blocks_.back());
        blocks_.resize(outer);
        loops_ = loops;
        return closed;
    };
    try {
        body();
    } catch (...) {
        close();  // Nothing of the block remains.
        throw;
    }
    return close();
}

void Builder::loop(const Operand& count, const std::function<void()>& body) {
    loop(count, [&](const Value&) { body(); });
}
void Builder::loop(const Operand& count, const std::function<void(Value)>& body) {
    Loop loop{};
    at(count.line_, [&] {
        expects_unfinished();
        loop.count = count.is_symbol() ? symbols({count})[0] : known(count, Dtype::i64);
        const Symbol& its_count = program_[loop.count];
        core::expects(its_count.type.kind == Kind::constant,
                      "a loop runs a constant number of times; ", its_count.name, " is of type ",
                      text_of(its_count.type));
        core::expects(its_count.value >= 0, "a loop cannot run ", its_count.value, " times");
        Symbol variable;
        variable.type = type_of(Kind::iteration, Dtype::i64, {});
        variable.where = location(count.line_);
        loop.variable = add(std::move(variable));
    });
    loop.body = block([&] { body(Value(*this, loop.variable)); }, true, count.line_);
    append(std::move(loop), count.line_);
}

void Builder::repeat_while(const Variable& condition, std::int64_t limit,
                           const std::function<void()>& body, SourceLine line) {
    While loop{};
    loop.condition = this->condition({condition, line}, "a loop");
    loop.limit = limit;
    at(line, [&] { core::expects(limit >= 1, "the limit of a loop is ", limit); });
    loop.body = block(body, true, line);
    append(std::move(loop), line);
}

void Builder::when(const Operand& condition, const std::function<void()>& body,
                   const std::function<void()>& otherwise) {
    If branch{};
    branch.condition = this->condition(condition, "a branch");
    branch.body = block(body, false, condition.line_);
    branch.otherwise = block(otherwise, false, condition.line_);
    append(std::move(branch), condition.line_);
}

void Builder::stop_if(const Operand& condition) {
    If branch{};
    branch.condition = this->condition(condition, "stop_if");
    at(condition.line_, [&] { core::expects(loops_ > 0, "stop_if outside of a loop"); });
    branch.body = block([&] { append(Break{}, condition.line_); }, false, condition.line_);
    append(std::move(branch), condition.line_);
}

SymbolId Builder::condition(const Operand& operand, std::string_view of) {
    return at(operand.line_, [&] {
        expects_unfinished();
        core::expects(operand.is_symbol(), "the condition of ", of, " is a number");
        const SymbolId id = symbols({operand})[0];
        const Type& type = program_[id].type;
        core::expects(type == scalar(Dtype::boolean), "the condition of ", of, " is of type ",
                      text_of(type), ", not a scalar bool");
        return id;
    });
}

Program Builder::finish(std::initializer_list<Operand> values) {
    const SourceLine line = values.begin()->line_;
    Program program = program_;
    at(line, [&] {
        expects_unfinished();
        core::expects(blocks_.size() == 1, "a program can return at its end only");
        program.statements = blocks_.front();
        program.statements.push_back({Return{symbols(values)}, location(line)});
    });
    program = tidied(std::move(program), registry_, variables_);
    try {
        check(program, registry_);
    } catch (const core::InvalidArgument& error) {  // It says the line.
        throw core::InvalidArgument(core::text(line.file, ", ", error.what()));
    }
    finished_ = true;
    return program;
}

Value call(std::string_view operation, std::initializer_list<Operand> operands,
           Attributes attributes) {
    return Builder::call(operation, operands, std::move(attributes), 1)[0];
}

Value operator+(const Operand& a, const Operand& b) { return call("add", {a, b}); }
Value operator-(const Operand& a, const Operand& b) { return call("subtract", {a, b}); }
Value operator*(const Operand& a, const Operand& b) {
    return call(a.is_stencil() ? "stencil_product" : "multiply", {a, b});
}
Value operator/(const Operand& a, const Operand& b) { return call("divide", {a, b}); }
Value operator-(const Operand& a) { return call("negate", {a}); }
Value operator<(const Operand& a, const Operand& b) { return call("less", {a, b}); }
Value operator<=(const Operand& a, const Operand& b) { return call("less_equal", {a, b}); }
Value operator>(const Operand& a, const Operand& b) { return call("less", {b, a}); }
Value operator>=(const Operand& a, const Operand& b) { return call("less_equal", {b, a}); }
Value operator==(const Operand& a, const Operand& b) { return call("equal", {a, b}); }
Value operator!=(const Operand& a, const Operand& b) { return call("not_equal", {a, b}); }
Value operator&&(const Operand& a, const Operand& b) { return call("and", {a, b}); }
Value operator||(const Operand& a, const Operand& b) { return call("or", {a, b}); }
Value operator!(const Operand& a) { return call("not", {a}); }
Value min(const Operand& a, const Operand& b) { return call("min", {a, b}); }
Value max(const Operand& a, const Operand& b) { return call("max", {a, b}); }
Value abs(const Operand& a) { return call("abs", {a}); }
Value sqrt(const Operand& a) { return call("sqrt", {a}); }
Value multiply_add(const Operand& a, const Operand& b, const Operand& c) {
    return call("multiply_add", {a, b, c});
}
Value select(const Operand& condition, const Operand& a, const Operand& b) {
    return call("select", {condition, a, b});
}
Value sum(const Operand& x) { return call("sum", {x}); }
Value dot(const Operand& x, const Operand& y) { return call("dot", {x, y}); }
Value red(const Operand& x) { return call("red", {x}); }
Value black(const Operand& x) { return call("black", {x}); }
Value copy(const Operand& x) { return call("copy", {x}); }

}  // namespace aperture::compose
