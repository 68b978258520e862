"""What cxx.py finds in C++."""
import unittest

import cxx

SOURCE = r'''
#define TWICE(x) \
  { x; x; }
namespace motley {
namespace {
// struct Comment {
const char* kText = "struct Text {";
const char* kRaw = R"(
struct Raw {
)";
constexpr auto kMillion = 1'000'000;
template <typename T, typename U = std::vector<int>>
struct Pair {
  struct Nested {};
  Pair(int a, int b) : a_{a}, b_(b) {}
  bool operator==(const Pair& other) const { return a_ == other.a_; }
  auto twice() const -> std::vector<T> {
    return {a_, a_};
  }
  std::function<void()> call_{[] {}};
  int a_ = 0;
};
enum class Color : std::uint8_t { kRed, kBlue };
struct Forward;
class Derived final : public Base<int> {
 public:
  void run() override {
    struct Local {};
    if (true) {
      call([&](int x) { return x; });
    }
  }
};
const std::vector<Pair<int>> kPairs = {{1, 2}, make({3, 4})};
const auto kNamed = [](int x) {
  return x;
};
}  // namespace
template <>
struct hash<Pair<int>> {
  std::size_t operator()(const Pair<int>& pair) const noexcept { return 1; }
};
struct Outer::Inner {
  int x;
};
Result<int>
long_one(int a,
         int b) {
  return a;
}
TEST(Suite, Name) {
  EXPECT_EQ(1, 1);
}
INSTANTIATE_TEST_SUITE_P(All, Suite, testing::ValuesIn({1, 2}),
                         [](const auto& test) { return test.param; });
}  // namespace motley
'''


class Scan(unittest.TestCase):
    def setUp(self):
        self.functions, self.types = cxx.scan(SOURCE)

    def test_types_of_namespaces_are_found(self):
        self.assertEqual([type.name for type in self.types], ["Pair", "Color", "Derived"])

    def test_a_type_has_its_line(self):
        self.assertEqual(self.types[1].line, SOURCE.split("enum class Color")[0].count("\n") + 1)

    def test_functions_are_found_with_their_lines(self):
        heads = [function.head.split("(")[0] for function in self.functions]
        self.assertEqual(heads, ["Pair", "bool operator==", "auto twice", "void run", "const auto kNamed = []",
                                 "std::size_t operator", "Result<int> long_one", "TEST"])
        self.assertEqual([function.lines for function in self.functions], [1, 1, 3, 6, 3, 1, 5, 3])
        self.assertEqual([function.body for function in self.functions], [1, 1, 3, 6, 3, 1, 3, 3])


if __name__ == "__main__":
    unittest.main()
