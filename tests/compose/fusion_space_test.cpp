// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/fusion_space.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcompose/check.hpp"
#include "libcompose/kernel_builder.hpp"
#include "tests/compose/listing1.hpp"
#include "tests/compose/random_program.hpp"
#include "tests/compose/thesis_programs.hpp"

namespace aperture::compose {
namespace {

int calls_of(const FusionSpace& space) { return std::popcount(space.all()); }
bool has(CallSet set, int call) { return (set & only(call)) != 0; }

bool is_convex(const FusionSpace& space, CallSet set) {
    for (int between = 0; between < calls_of(space); ++between) {
        if (has(set, between) || (space.before(between) & set) == 0) continue;
        for (int call = 0; call < calls_of(space); ++call) {
            if (has(set, call) && has(space.before(call), between)) return false;
        }
    }
    return true;
}

/// All sets that can be kernels.
std::vector<CallSet> fusible_sets(const FusionSpace& space, bool connected) {
    std::vector<CallSet> all;
    for (CallSet set = 1; set <= space.all(); ++set) {
        if (is_convex(space, set) && space.is_legal(set) &&
            (!connected || space.is_connected(set))) {
            all.push_back(set);
        }
    }
    return all;
}

/// Whether kernels can run one after the other.
bool has_order(const FusionSpace& space, std::vector<CallSet> kernels) {
    CallSet done = 0;
    while (!kernels.empty()) {
        const auto ready = std::find_if(kernels.begin(), kernels.end(), [&](CallSet set) {
            for (int call = 0; call < calls_of(space); ++call) {
                if (has(set, call) && (space.before(call) & ~(done | set)) != 0) return false;
            }
            return true;
        });
        if (ready == kernels.end()) return false;
        done |= *ready;
        kernels.erase(ready);
    }
    return true;
}

/// Costs of all covers, ascending: each call is in one kernel.
std::vector<double> costs_of_all_covers(const FusionSpace& space, bool connected,
                                        const std::function<double(CallSet)>& cost) {
    const std::vector<CallSet> sets = fusible_sets(space, connected);
    std::vector<double> all;
    std::vector<CallSet> kernels;
    const std::function<void(CallSet, double)> extend = [&](CallSet done, double so_far) {
        if (done == space.all()) {
            if (has_order(space, kernels)) all.push_back(so_far);
            return;
        }
        const int first = std::countr_one(done);
        for (const CallSet set : sets) {
            if (!has(set, first) || (set & done) != 0) continue;
            kernels.push_back(set);
            extend(done | set, so_far + cost(set));
            kernels.pop_back();
        }
    };
    extend(0, 0);
    std::sort(all.begin(), all.end());
    return all;
}

/// Orders in which the calls of a set can run.
std::vector<std::vector<int>> orders_of(const FusionSpace& space, CallSet set) {
    std::vector<std::vector<int>> all;
    std::vector<int> order;
    const std::function<void(CallSet)> extend = [&](CallSet ran) {
        if (ran == set) all.push_back(order);
        for (int call = 0; call < calls_of(space); ++call) {
            if (!has(set & ~ran, call) || (space.before(call) & set & ~ran) != 0) continue;
            order.push_back(call);
            extend(ran | only(call));
            order.pop_back();
        }
    };
    extend(0);
    return all;
}

/// The calls of a program's parts without loops and branches, with what is read after them.
class Blocks {
  public:
    explicit Blocks(const std::string& text)
        : program(parse(text)), calls_(check(program, registry_)), live_(live_symbols(program)) {
        add(program.statements);
    }
    FusionSpace space(std::size_t block, double tiles_from = 0) const {
        return space_of(program, blocks[block], live_.at(blocks[block].back()->call).after,
                        tiles_from);
    }
    Kernel kernel(std::size_t block, const FusionSpace& space, CallSet set, CallSet done) const {
        KernelBuilder builder(program, Fusion::planned);
        for (int call = 0; call < calls_of(space); ++call) {
            if (has(set, call)) builder.add(*blocks[block][std::size_t(call)]);
        }
        return builder.finish(space.live(done | set));
    }

    const Program program;
    std::vector<std::vector<const PlannedCall*>> blocks;

  private:
    void add(const Block& block) {
        std::vector<const PlannedCall*> calls;
        const auto finish = [&] {
            if (!calls.empty()) blocks.push_back(std::move(calls));
            calls.clear();
        };
        for (const Statement& statement : block) {
            if (const auto* call = std::get_if<Call>(&statement.what)) {
                calls.push_back(&calls_.at(call));
                continue;
            }
            finish();
            if (const auto* loop = std::get_if<Loop>(&statement.what)) add(loop->body);
            if (const auto* branch = std::get_if<If>(&statement.what)) add(branch->body);
        }
        finish();
    }
    Registry registry_;
    PlannedCalls calls_;
    std::map<const Call*, Live> live_;
};

/// Threads that can work on a problem at a time: one, one for each row of the result, or one for
/// each number (section 4.1).
std::vector<index_t> granularities(const Match& match) {
    std::vector<index_t> all{1};
    const Type& result = match.results.front();
    if (match.level != Level::block || result.kind != Kind::batch) return all;
    for (const index_t threads : {result.rows(), result.numbers_of_problem()}) {
        if (threads > all.back()) all.push_back(threads);
    }
    return all;
}

TEST(ComposeFusionSpace, OfListing1IsThatOfThePaper) {
    // docs/notes/planner.md counts them by hand.
    const Blocks blocks(listing1);
    const FusionSpace space = blocks.space(0);
    const auto count = [&](bool connected, int least) {
        const auto sets = fusible_sets(space, connected);
        return std::count_if(sets.begin(), sets.end(),
                             [&](CallSet set) { return std::popcount(set) >= least; });
    };
    EXPECT_EQ(count(true, 2), 15);
    EXPECT_EQ(count(true, 1), 21);
    EXPECT_EQ(count(false, 2), 33);
    const CoverCosts costs{[](CallSet, CallSet) { return 1.0; }};
    EXPECT_EQ(best_covers(space, costs, 1000, true).best.size(), 32U);
    EXPECT_EQ(best_covers(space, costs, 1000, false).best.size(), 86U);

    const auto choices = [&](CallSet set) {
        index_t product = 1;
        for (int call = 0; call < 6; ++call) {
            if (!has(set, call)) continue;
            product *= index_t(granularities(blocks.blocks[0][std::size_t(call)]->match).size());
        }
        return product;
    };
    EXPECT_EQ(orders_of(space, space.all()).size(), 10U);
    EXPECT_EQ(choices(space.all()), 162);
    std::size_t all_orders = 0;
    index_t of_sets = 0, of_calls = 0;
    for (const CallSet set : fusible_sets(space, true)) {
        const bool alone = std::popcount(set) == 1;
        all_orders += alone ? 0 : orders_of(space, set).size();
        (alone ? of_calls : of_sets) += choices(set);
    }
    EXPECT_EQ(all_orders, 37U);
    EXPECT_EQ(of_sets, 410);
    EXPECT_EQ(of_calls, 15);
}

/// Values of random symbols, some overwritten, that up to 6 calls make and read; some calls apart.
FusionSpace random_space(unsigned seed) {
    std::mt19937 generator(seed);
    const auto below = [&](int end) {
        return std::uniform_int_distribution<int>(0, end - 1)(generator);
    };
    const int calls = 1 + below(6), symbols = 2 + below(6);
    std::vector<BlockValue> values;
    std::map<int, std::size_t> held;
    const auto make = [&](int symbol, int maker) {
        held[symbol] = values.size();
        const double bytes = 1 + below(9);
        values.push_back({symbol, maker, 0, false, below(4) == 0, bytes, bytes});
    };
    for (int call = 0; call < calls; ++call) {
        for (int operand = 0; operand < 1 + below(2); ++operand) {
            const int symbol = below(symbols);
            if (held.count(symbol) == 0) make(symbol, -1);
            values[held[symbol]].readers |= only(call);
        }
        make(below(symbols), call);
    }
    for (const auto& [symbol, value] : held) values[value].lives = below(3) == 0;
    std::vector<BlockCall> all(static_cast<std::size_t>(calls));
    for (int a = 0; a < calls; ++a) {
        all[std::size_t(a)].workspace = below(3);
        all[std::size_t(a)].extents = below(3) - 1;
        for (int b = 0; b < a; ++b) {
            const int mine = all[std::size_t(a)].extents, other = all[std::size_t(b)].extents;
            if (below(5) > 0 && (mine < 0 || other < 0 || mine == other)) continue;
            all[std::size_t(a)].apart |= only(b);
            all[std::size_t(b)].apart |= only(a);
        }
    }
    const CallSet whole = only(calls) - 1;
    const bool limited = below(4) == 0;
    return {all, values, [=](CallSet set) { return !limited || set != whole || calls == 1; }};
}

/// Loads and stores of a kernel, by the values' definition.
double bytes_of_kernel(const FusionSpace& space, CallSet set) {
    double bytes = 0;
    for (const BlockValue& value : space.values()) {
        const bool made = value.maker >= 0 && has(set, value.maker);
        if (!made && (value.readers & set) != 0) bytes += value.bytes;
        if (made && (value.lives || (value.readers & ~set) != 0)) bytes += value.bytes;
    }
    return bytes;
}

TEST(ComposeFusionSpace, BestCoversOfRandomGraphsAreThoseOfBruteForce) {
    constexpr std::size_t most = 7;
    for (unsigned seed = 0; seed < 400; ++seed) {
        const FusionSpace space = random_space(seed);
        for (const bool connected : {true, false}) {
            const auto any_cost = [&](CallSet set) {
                return 0x1p-32 * double(std::mt19937(unsigned(set) + 64 * seed)());
            };
            const auto traffic = [&](CallSet set) { return 2 + bytes_of_kernel(space, set); };
            const auto expect_best = [&](const auto& cost, const CoverCosts& costs) {
                auto expected = costs_of_all_covers(space, connected, cost);
                expected.resize(std::min(expected.size(), most));
                const Covers found = best_covers(space, costs, most, connected);
                EXPECT_TRUE(found.exact);
                ASSERT_EQ(found.best.size(), expected.size()) << "seed " << seed;
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    const Cover& cover = found.best[i];
                    EXPECT_NEAR(cover.cost, expected[i], 1e-12) << "seed " << seed;
                    CallSet done = 0;
                    double sum = 0;
                    for (const CallSet set : cover.kernels) {
                        EXPECT_EQ(set & done, 0U);
                        for (int call = 0; call < calls_of(space); ++call) {
                            EXPECT_TRUE(!has(set, call) ||
                                        (space.before(call) & ~(done | set)) == 0);
                        }
                        done |= set;
                        sum += cost(set);
                    }
                    EXPECT_EQ(done, space.all());
                    EXPECT_NEAR(sum, cover.cost, 1e-12);
                }
            };
            expect_best(any_cost, {[&](CallSet set, CallSet) { return any_cost(set); }});
            // What is never undercut leads to the same.
            expect_best(traffic, {[&](CallSet set, CallSet) { return traffic(set); },
                                  [](const FusionSpace::Least& least) {
                                      return least.bytes + 2 * least.kernels;
                                  }});
        }
    }
}

TEST(ComposeFusionSpace, CallsAreConnectedByValuesThatAreWorthIt) {
    // Call 1 reads the scalar of call 0, call 2 the array of call 1 and, as call 3, the input; call
    // 4 reads the scalar input of call 0 and overwrites the input.
    const FusionSpace space({{}, {}, {}, {}, {}},
                            {{.symbol = 0, .readers = only(0) | only(4), .is_scalar = true},
                             {.symbol = 1, .maker = 0, .readers = only(1), .is_scalar = true},
                             {.symbol = 2, .maker = 1, .readers = only(2)},
                             {.symbol = 3, .readers = only(2) | only(3)},
                             {.symbol = 3, .maker = 4}});
    EXPECT_TRUE(space.is_connected(only(0) | only(1)));
    EXPECT_TRUE(space.is_connected(only(2) | only(3)));
    EXPECT_TRUE(space.is_connected(only(0) | only(1) | only(2) | only(3)));
    EXPECT_FALSE(space.is_connected(only(0) | only(2)));
    EXPECT_FALSE(space.is_connected(only(0) | only(4)));
    EXPECT_FALSE(space.is_connected(only(3) | only(4)));
    EXPECT_EQ(space.before(4), only(2) | only(3) | only(1) | only(0));
}

TEST(ComposeFusionSpace, OrdersOfRandomGraphsHaveTheFewestBytesOnChip) {
    for (unsigned seed = 0; seed < 400; ++seed) {
        const FusionSpace space = random_space(seed);
        for (const CallSet set : fusible_sets(space, false)) {
            const auto orders = orders_of(space, set);
            double least = 1e9;
            for (const auto& order : orders) least = std::min(least, space.bytes_on_chip(order));
            const std::vector<int> found = space.least_order(set);
            EXPECT_THAT(orders, testing::Contains(found));
            EXPECT_EQ(space.bytes_on_chip(found), least) << "seed " << seed;
        }
    }
}

TEST(ComposeFusionSpace, BytesOnChipAreThoseOfValuesInUse) {
    // Listing 1: products of 3 x 3 take three matrices, those of 5 x 5 as well.
    const Blocks blocks(listing1);
    const FusionSpace space = blocks.space(0);
    const auto bytes = [&](std::vector<int> order) { return space.bytes_on_chip(order) / 4; };
    EXPECT_EQ(bytes({0}), 9 + 9 + 9);
    EXPECT_EQ(bytes({1, 2}), 9 + 3 + 3);
    EXPECT_EQ(bytes({3, 4}), 25 + 25 + 25);
    // s1 waits for the others, or M3, or M1.
    EXPECT_EQ(bytes({0, 1, 2, 3, 4, 5}), 75 + 1);
    EXPECT_EQ(bytes({3, 4, 0, 1, 2, 5}), 75);
    EXPECT_EQ(bytes({3, 0, 4, 1, 2, 5}), 75 + 9);
    EXPECT_EQ(bytes(space.least_order(space.all())), 75);
}

TEST(ComposeFusionSpace, LargeSetsHaveAnOrderNotWorseThanTheProgram) {
    std::string declarations = "input A: batch f32[9, 4, 4]; input B: batch f32[9, 4, 4];",
                products, sums = "T = copy(A);";
    for (int i = 0; i < 10; ++i) {
        declarations += core::text("local M", i, ": batch f32[9, 4, 4];");
        products += core::text("M", i, " = matrix_multiply(A, B);");
        sums += core::text("T = add(T, M", i, ");");
    }
    const Blocks blocks("program p {" + declarations + "local T: batch f32[9, 4, 4];" + products +
                        sums + "return T; }");
    const FusionSpace space = blocks.space(0);
    std::vector<int> of_program(21);
    std::iota(of_program.begin(), of_program.end(), 0);
    const std::vector<int> order = space.least_order(space.all());
    EXPECT_THAT(order, testing::UnorderedElementsAreArray(of_program));
    EXPECT_EQ(space.bytes_on_chip(of_program), 12 * 64);
    // A, B, T and one product.
    EXPECT_EQ(space.bytes_on_chip(order), 4 * 64);
}

TEST(ComposeFusionSpace, LegalSetsAreThoseOfTheKernelBuilder) {
    // Sums of rows and columns, and what reads them.
    std::vector<std::string> texts{
        "program p { input A: array f32[20, 30]; input x: array f32[30]; local B: array f32[20, "
        "30];"
        "local C: array f32[20, 30]; local r: array f32[20]; local p: array f32[20];"
        "local s: array f32[30]; local t: array f32[30]; local q: scalar f32;"
        "p = matrix_vector(A, x); s = transposed_matrix_vector(A, p); C = outer_product(p, x);"
        "B = add(A, C); r = row_sums(B); t = transposed_matrix_vector(B, r); q = sum(A);"
        "t = add(t, s); return B, t, q; }"};
    // Vectors along both sides, before and after images and sums.
    texts.push_back(
        "program p { input A: array f32[20, 30]; input x: array f32[30]; input u: array f32[20];"
        "local B: array f32[20, 30]; local p: array f32[20]; local r: array f32[20];"
        "local s: array f32[30]; local t: array f32[30]; t = add(x, x); r = multiply(u, u);"
        "B = add(A, A); p = matrix_vector(B, x); s = column_sums(B); p = add(p, r);"
        "s = multiply(s, t); t = transposed_matrix_vector(A, p); return B, p, s, t; }");
    for (unsigned seed = 0; seed < 20; ++seed) texts.push_back(RandomProgram(seed, 1).text());
    // With tiles and without.
    constexpr double none = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < 2 * texts.size(); ++i) {
        const std::string& text = texts[i / 2];
        const double from = i % 2 == 0 ? 0 : none;
        const Blocks blocks(text);
        for (std::size_t block = 0; block < blocks.blocks.size(); ++block) {
            const FusionSpace space = blocks.space(block, from);
            if (calls_of(space) > 12) continue;
            const auto& calls = blocks.blocks[block];
            const bool has_lines = std::any_of(
                calls.begin(), calls.end(),
                [](const PlannedCall* planned) { return adds_lines(planned->match.level); });
            for (CallSet set = 1; set <= space.all(); ++set) {
                if (!is_convex(space, set)) continue;
                KernelBuilder kernel(blocks.program, Fusion::planned, has_lines, from);
                bool accepted = true;
                for (int call = 0; call < calls_of(space) && accepted; ++call) {
                    if (!has(set, call)) continue;
                    const PlannedCall& planned = *calls[std::size_t(call)];
                    accepted = kernel.accepts(planned);
                    kernel.add(planned);
                }
                // Without stencils of what the block makes, the space knows at once what cannot be.
                EXPECT_TRUE(from < none || space.is_legal(set) == accepted)
                    << text << "set " << set;
                EXPECT_EQ(space.is_legal(set) && space.is_whole(set), accepted && kernel.is_whole())
                    << text << "set " << set;
            }
        }
    }
}

TEST(ComposeFusionSpace, BoundsOfProgramsAreNoneOfTheirCovers) {
    // With exchanges of memory, which the random graphs have not.
    const std::string exchange =
        "program p { input b: array f32[30, 40]; inout x: array f32[30, 40];"
        "stencil S: f32 zero {(0, 1): 0.5, (1, 0): 0.5}; constant n = 4; local i: iteration i64;"
        "local t: array f32[30, 40]; local u: array f32[30, 40]; local r: scalar f32;"
        "for i in n { t = stencil_product(S, x); t = add(t, b); u = stencil_product(S, t);"
        "r = dot(u, x); u = multiply(u, r); x = copy(u); t = add(x, b); } return x, r; }";
    std::vector<std::string> texts{exchange};
    for (unsigned seed = 0; seed < 10; ++seed) texts.push_back(RandomProgram(seed, 1).text());
    int compared = 0;
    for (const std::string& text : texts) {
        const Blocks blocks(text);
        for (std::size_t block = 0; block < blocks.blocks.size(); ++block) {
            const FusionSpace space = blocks.space(block);
            const auto cost = [&](CallSet set, CallSet done) {
                const Kernel kernel = blocks.kernel(block, space, set, done);
                return kernel.exchanges ? 0 : 1000 + kernel.bytes;
            };
            const auto bound = [](const FusionSpace::Least& least) {
                return least.bytes + 1000 * least.kernels;
            };
            constexpr std::size_t most_choices = 2000000;
            const Covers without = best_covers(space, {cost}, 3, false, most_choices);
            if (!without.exact) continue;
            const Covers with = best_covers(space, {cost, bound}, 1, false, most_choices);
            EXPECT_EQ(with.best.front().cost, without.best.front().cost) << text;
            // On the way to each cover, call by call.
            for (const Cover& cover : without.best) {
                CallSet done = 0;
                double left = cover.cost;
                for (const CallSet set : cover.kernels) {
                    FusionSpace::Choice choice{done, 0, 0};
                    while (true) {
                        EXPECT_LE(bound(space.least(choice)), left) << text;
                        const CallSet next = space.candidates(choice);
                        if (next == 0) break;
                        const int call = std::countr_zero(next);
                        choice =
                            has(set, call) ? space.with(choice, call) : space.without(choice, call);
                    }
                    EXPECT_EQ(choice.in, set);
                    left -= cost(set, done);
                    done |= set;
                }
            }
            ++compared;
        }
    }
    EXPECT_GT(compared, 25);
}

TEST(ComposeFusionSpace, CoversOfTheThesisProgramsAreExact) {
    std::vector<std::string> texts;
    for (const auto& [rows, columns] : {std::pair{388, 592}, std::pair{1080, 1920}}) {
        texts.push_back(print(thesis::jacobi(rows, columns, 10)));
        texts.push_back(print(thesis::jacobi_flow(rows, columns, 0.25, 10)));
        texts.push_back(print(thesis::blockwise_flow(rows, columns, 0.25, 10)));
        texts.push_back(print(thesis::conjugate_gradients_flow(rows, columns, 0.25, 1e-6, 10)));
        texts.push_back(print(thesis::red_black_flow(rows, columns, 0.25, 10)));
    }
    for (unsigned seed = 0; seed < 100; ++seed) texts.push_back(RandomProgram(seed).text());
    for (const std::string& text : texts) {
        const Blocks blocks(text);
        for (std::size_t block = 0; block < blocks.blocks.size(); ++block) {
            const FusionSpace space = blocks.space(block, tiles_from(h100));
            const CoverCosts costs{
                [&](CallSet set, CallSet done) {
                    return predicted_seconds(blocks.program, blocks.kernel(block, space, set, done),
                                             h100);
                },
                [](const FusionSpace::Least& least) {
                    return least.bytes / h100.bytes_a_second +
                           least.kernels * (h100.launch_seconds + h100.latency_seconds);
                }};
            EXPECT_TRUE(best_covers(space, costs, 1).exact) << text;
        }
    }
}

TEST(ComposeFusionSpace, RefusesWhatHasNoOrder) {
    EXPECT_THROW(FusionSpace({{}, {}}, {{.symbol = 0, .maker = 1, .readers = only(0)}}),
                 core::InvalidArgument);
    EXPECT_THROW(FusionSpace(std::vector<BlockCall>(65), {}), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::compose
