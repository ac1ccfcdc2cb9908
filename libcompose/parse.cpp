// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "aperture/compose/program.hpp"
#include "aperture/core/error.hpp"
#include "libcompose/words.hpp"

namespace aperture::compose {
namespace {

struct Token {
    enum class Kind { word, number, mark, end } kind = Kind::end;
    std::string_view text;
    Location where;
};

/// Splits a text into words, numbers and single marks.
class Lexer {
  public:
    explicit Lexer(std::string_view text) : text_(text) {}

    Token next() {
        skip_blanks();
        const Location where{line_, static_cast<int>(at_ - line_begin_) + 1};
        if (at_ == text_.size()) return {Token::Kind::end, "the end", where};
        const std::size_t begin = at_;
        const auto token = [&](Token::Kind kind) {
            return Token{kind, text_.substr(begin, at_ - begin), where};
        };
        if (is_word(text_[at_]) && !is_digit(text_[at_])) {
            while (at_ < text_.size() && is_word(text_[at_])) ++at_;
            return token(Token::Kind::word);
        }
        const bool negative = text_[at_] == '-' && at_ + 1 < text_.size();
        if (is_digit(text_[at_]) || (negative && is_digit(text_[at_ + 1]))) {
            ++at_;
            while (at_ < text_.size() && in_number(text_[at_], text_[at_ - 1])) ++at_;
            return token(Token::Kind::number);
        }
        ++at_;
        return token(Token::Kind::mark);
    }

  private:
    static bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
    static bool is_word(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    }
    static bool in_number(char c, char before) {
        return is_digit(c) || c == '.' || c == 'e' || c == 'E' ||
               ((c == '+' || c == '-') && (before == 'e' || before == 'E'));
    }
    void skip_blanks() {
        while (at_ < text_.size()) {
            if (text_[at_] == '\n') {
                ++line_;
                line_begin_ = at_ + 1;
            } else if (text_[at_] == '#') {  // A comment, to the end of the line.
                while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
            } else if (std::isspace(static_cast<unsigned char>(text_[at_])) == 0) {
                return;
            }
            ++at_;
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_begin_ = 0;
    int line_ = 1;
};

class Parser {
  public:
    explicit Parser(std::string_view text) : lexer_(text), token_(lexer_.next()) {}

    Program program() {
        expect_word("program");
        program_.name = identifier();
        expect_mark("{");
        while (declaration()) {
        }
        program_.statements = statements(0);
        if (token_.kind != Token::Kind::end) fail("the end of the program");
        return std::move(program_);
    }

  private:
    [[noreturn]] static void fail_at(Location where, const std::string& why) {
        throw core::InvalidArgument(
            core::text("line ", where.line, ", column ", where.column, ": ", why));
    }
    [[noreturn]] void fail(const std::string& wanted) const {
        fail_at(token_.where, core::text("expected ", wanted, ", found '", token_.text, "'"));
    }
    Token take() {
        const Token taken = token_;
        token_ = lexer_.next();
        return taken;
    }
    bool at_word(std::string_view word) const {
        return token_.kind == Token::Kind::word && token_.text == word;
    }
    bool at_mark(std::string_view mark) const {
        return token_.kind == Token::Kind::mark && token_.text == mark;
    }
    bool skip_word(std::string_view word) {
        if (!at_word(word)) return false;
        take();
        return true;
    }
    bool skip_mark(std::string_view mark) {
        if (!at_mark(mark)) return false;
        take();
        return true;
    }
    void expect_word(std::string_view word) {
        if (!skip_word(word)) fail(core::text("'", word, "'"));
    }
    void expect_mark(std::string_view mark) {
        if (!skip_mark(mark)) fail(core::text("'", mark, "'"));
    }
    std::string identifier() {
        if (token_.kind != Token::Kind::word || !is_identifier(token_.text)) fail("a name");
        return std::string(take().text);
    }
    template <class Number>
    Number number(const char* wanted) {
        Number value{};
        const char* const end = token_.text.data() + token_.text.size();
        const auto read = std::from_chars(token_.text.data(), end, value);
        if (token_.kind != Token::Kind::number || read.ec != std::errc() || read.ptr != end) {
            fail(wanted);
        }
        take();
        return value;
    }
    std::int64_t integer() { return number<std::int64_t>("an integer"); }
    /// first {"," next} with `one` for each.
    template <class One>
    void list(const One& one) {
        do {
            one();
        } while (skip_mark(","));
    }
    Dtype dtype() {
        const auto found = dtype_named(token_.text);
        if (!found) fail("f32, f64, c64, c128, i64 or bool");
        take();
        return *found;
    }

    bool declaration() {
        const Location where = token_.where;
        Symbol symbol;
        if (skip_word("constant")) {
            symbol.source = Source::known;
            symbol.type = {Kind::constant, Dtype::i64, 0, {}};
            symbol.name = identifier();
            expect_mark("=");
            symbol.value = integer();
        } else if (skip_word("number")) {
            symbol.source = Source::known;
            symbol.name = identifier();
            expect_mark(":");
            if (!at_word("f32") && !at_word("f64")) fail("f32 or f64");
            symbol.type = scalar(dtype());
            expect_mark("=");
            symbol.number = number<double>("a number");
        } else if (skip_word("stencil")) {
            symbol.source = Source::known;
            symbol.name = identifier();
            expect_mark(":");
            symbol.type = {Kind::stencil, dtype(), 0, {}};
            symbol.stencil = stencil();
        } else {
            const auto word = std::find_if(source_words.begin(), source_words.end(),
                                           [&](std::string_view one) { return at_word(one); });
            if (word == source_words.end()) return false;
            take();
            symbol.source = static_cast<Source>(word - source_words.begin());
            symbol.name = identifier();
            expect_mark(":");
            type_and_offsets(symbol);
        }
        expect_mark(";");
        symbol.where = where;
        add(std::move(symbol));
        return true;
    }
    void add(Symbol symbol) {
        const Location where = symbol.where;
        try {
            program_.add(std::move(symbol));
        } catch (const core::InvalidArgument& error) {
            fail_at(where, error.what());
        }
    }
    Stencil stencil() {
        Stencil all;
        const auto border = std::find_if(border_words.begin(), border_words.end(),
                                         [&](std::string_view one) { return at_word(one); });
        if (border == border_words.end()) fail("replicate or zero");
        take();
        all.border = static_cast<Border>(border - border_words.begin());
        expect_mark("{");
        list([&] {
            all.offsets.push_back(offset());
            expect_mark(":");
            all.weights.push_back(number<double>("a number"));
        });
        expect_mark("}");
        return all;
    }
    Offset offset() {
        expect_mark("(");
        const int first = number<int>("an integer");
        if (skip_mark(")")) return {first};
        expect_mark(",");
        const int second = number<int>("an integer");
        if (skip_mark(")")) return {first, second};
        expect_mark(",");
        const int third = number<int>("an integer");
        expect_mark(")");
        return {first, second, third};
    }
    void type_and_offsets(Symbol& symbol) {
        const Location where = token_.where;
        const std::optional<Kind> kind = kind_named(token_.text);
        if (!kind) fail("scalar, iteration, array, batch, diagonals or image_diagonals");
        take();
        const Dtype its_dtype = dtype();
        std::vector<index_t> extents;
        if (skip_mark("[")) {
            list([&] { extents.push_back(integer()); });
            expect_mark("]");
        }
        try {
            symbol.type = type_of(*kind, its_dtype, extents);
        } catch (const core::InvalidArgument& error) {
            fail_at(where, error.what());
        }
        if (skip_word("at")) {
            expect_mark("{");
            list([&] { symbol.offsets.push_back(integer()); });
            expect_mark("}");
        }
    }
    static std::optional<Kind> kind_named(std::string_view name) {
        for (const Kind kind : {Kind::scalar, Kind::iteration, Kind::array, Kind::batch,
                                Kind::diagonals, Kind::image_diagonals}) {
            if (name_of(kind) == name) return kind;
        }
        return std::nullopt;
    }

    SymbolId symbol() {
        const Token name = token_;
        const SymbolId id = program_.find(name.text);
        if (name.kind != Token::Kind::word) fail("a name");
        if (id < 0) fail_at(name.where, core::text("there is no symbol ", name.text));
        take();
        return id;
    }
    std::vector<SymbolId> symbols() {
        std::vector<SymbolId> ids;
        list([&] { ids.push_back(symbol()); });
        return ids;
    }

    /// To the brace that closes the block.
    Block statements(int depth) {
        if (depth > deepest_block) fail_at(token_.where, "blocks are nested too deeply");
        Block block;
        while (!skip_mark("}")) {
            const Location where = token_.where;
            block.push_back({statement(depth), where});
        }
        return block;
    }
    decltype(Statement::what) statement(int depth) {
        if (skip_word("for")) {
            Loop loop{};
            loop.variable = symbol();
            expect_word("in");
            loop.count = symbol();
            loop.body = braced(depth);
            return loop;
        }
        if (skip_word("while")) {
            While loop{};
            loop.condition = symbol();
            expect_word("limit");
            loop.limit = integer();
            loop.body = braced(depth);
            return loop;
        }
        if (skip_word("if")) {
            If branch{};
            branch.condition = symbol();
            branch.body = braced(depth);
            if (skip_word("else")) branch.otherwise = braced(depth);
            return branch;
        }
        if (skip_word("break")) {
            expect_mark(";");
            return Break{};
        }
        if (skip_word("return")) {
            Return result{symbols()};
            expect_mark(";");
            return result;
        }
        return call();
    }
    Block braced(int depth) {
        expect_mark("{");
        return statements(depth + 1);
    }
    Call call() {
        Call call;
        call.results = symbols();
        expect_mark("=");
        call.operation = identifier();
        if (skip_mark("<")) {
            list([&] {
                const Location where = token_.where;
                const std::string name = identifier();
                if (call.attributes.count(name) > 0) {
                    fail_at(where, core::text("there are two attributes ", name));
                }
                expect_mark("=");
                if (token_.kind == Token::Kind::word) {
                    call.attributes[name] = std::string(take().text);
                } else {
                    call.attributes[name] = number<double>("a word or a number");
                }
            });
            expect_mark(">");
        }
        expect_mark("(");
        if (!at_mark(")")) call.operands = symbols();
        expect_mark(")");
        expect_mark(";");
        return call;
    }

    Lexer lexer_;
    Token token_;
    Program program_;
};

}  // namespace

Program parse(std::string_view text) { return Parser(text).program(); }

}  // namespace aperture::compose
