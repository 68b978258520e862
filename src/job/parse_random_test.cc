// Random job files: for any bytes, the result is a job or an error of one line.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "job/parse.h"
#include "job/print.h"
#include "sync/registry.h"

namespace motley {
namespace {

constexpr std::string_view kSeedFile = R"(name = "fashion"
seed = 1
[model]
kind = "mlp"
[data]
kind = "libsvm"
path = "data/a9a"
holdout = 0.25
[train]
batch = 256
epochs = 2
target_accuracy = 0.85
lr = 0.05
[strategy]
sync = "all_reduce"
[strategy.hop]
graph = "ring"
[cluster]
workers = 4
unit = 0.0005
speeds = [1, 1, 1, 0.25]
hosts = [0, 0, 1, 2]
latency = [1e-3, 1e-3, 2e-3, 3e-3]
bandwidth = 1.25e9
bandwidth_up = [1e9, 1e9, 2e9, 3e9]
server_hosts = [0]
[[cluster.slowdown]]
kind = "random"
probability = 0.25
factor = 6
[[cluster.event]]
at = 10.0
worker = 2
speed = 0.5
[[cluster.event]]
at = 11.0
worker = 1
kind = "bandwidth"
bandwidth = 1e8
[[variant]]
name = "large"
train.batch = 512
)";

// Pieces of TOML syntax, which get further in the parser than random bytes.
constexpr std::string_view kTokens[] = {"[",
                                        "]",
                                        "[[",
                                        "]]",
                                        "{",
                                        "}",
                                        "\"",
                                        "'",
                                        "\"\"\"",
                                        "'''",
                                        "=",
                                        ".",
                                        ",",
                                        "#",
                                        "\n",
                                        "\r\n",
                                        "\\u12",
                                        "\\",
                                        "nan",
                                        "-inf",
                                        "true",
                                        "1e999",
                                        "0x7fff",
                                        "-1",
                                        "0",
                                        "1_000",
                                        "1979-05-27T07:32:00Z",
                                        "\xff",
                                        "\\u0000",
                                        "é",
                                        "train.",
                                        "batch",
                                        "= [1]",
                                        "= {}",
                                        "variant",
                                        "cluster.event",
                                        "strategy.sync"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::uint64_t i = 1 + random_.below(4); i > 0; --i) {
      change(text);
    }
    return text;
  }

  std::string noise(std::size_t size) {
    std::string text(size, ' ');
    std::ranges::generate(text, [&] { return static_cast<char>(random_.below(256)); });
    return text;
  }

 private:
  std::size_t place(const std::string& text) { return random_.below(text.size() + 1); }

  void change(std::string& text) {
    const std::size_t from = place(text);
    const std::size_t size = random_.below(40);
    switch (random_.below(6)) {
      case 0:
        if (from < text.size()) {
          text[from] = static_cast<char>(text[from] ^ (1 << random_.below(8)));
        }
        break;
      case 1:
        text.erase(from, size);
        break;
      case 2:
        text.insert(from, kTokens[random_.below(std::size(kTokens))]);
        break;
      case 3:
        text.insert(place(text), text.substr(from, size));
        break;
      case 4:
        duplicate_line(text, from);
        break;
      default:
        text.insert(from, noise(size / 8));
    }
  }

  // Copies the line at `from` to another place.
  void duplicate_line(std::string& text, std::size_t from) {
    const std::size_t begin = text.rfind('\n', from) + 1;
    const std::string line =
        text.substr(std::min(begin, text.size()), text.find('\n', begin) - begin);
    const std::size_t target = text.find('\n', place(text));
    text.insert(target == text.npos ? 0 : target, "\n" + line);
  }

  Random random_;
};

// The file is accepted or the error is one line; an accepted job can be printed and parsed again.
void expect_sane(std::string_view text, std::span<const std::string> overrides = {}) {
  for (const Mode mode : {Mode::kTrain, Mode::kSimulate, Mode::kConfig}) {
    const auto job = parse_job(job_schema(), text, "job.toml", overrides, mode);
    if (job) {
      const auto back = parse_job(job_schema(), to_toml(job_schema(), *job), "job.toml", {}, mode);
      ASSERT_TRUE(back) << back.error().message << "\n" << text;
    } else {
      const std::string& message = job.error().message;
      ASSERT_TRUE(message.starts_with("job.toml:") || message.starts_with("--set ")) << message;
      ASSERT_EQ(message.find_first_of("\r\n"), message.npos) << message;
    }
  }
}

TEST(RandomJobFiles, TheFileTheyComeFromIsValid) {
  const auto job = parse_job(job_schema(), kSeedFile, "job.toml", {}, Mode::kSimulate);
  EXPECT_TRUE(job) << job.error().message;
}

TEST(RandomJobFiles, MutatedFilesGiveAJobOrOneLine) {
  int accepted = 0;
  constexpr int kFiles = 6000;
  for (int seed = 0; seed < kFiles; ++seed) {
    Mutator mutator(static_cast<std::uint64_t>(seed));
    const std::string text = mutator.mutate(std::string(kSeedFile));
    ASSERT_NO_FATAL_FAILURE(expect_sane(text)) << "seed " << seed;
    accepted += parse_job(job_schema(), text, "job.toml", {}, Mode::kConfig) ? 1 : 0;
  }
  // The generator is useful only if some of its files get past the TOML parser.
  EXPECT_GT(accepted, kFiles / 100);
  EXPECT_LT(accepted, kFiles / 2);
}

TEST(RandomJobFiles, NoiseGivesOneLine) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    ASSERT_NO_FATAL_FAILURE(expect_sane(Mutator(seed).noise(seed % 300))) << "seed " << seed;
  }
}

TEST(RandomJobFiles, MutatedOverridesGiveAJobOrOneLine) {
  const std::string valid[] = {"train.batch=64", "cluster.speeds=[1,1,0.5,1]", "name=foo",
                               "cluster={workers=2}",
                               "cluster.latency=[[0,1,2,3],[1,0,2,3],[1,2,0,3],[1,2,3,0]]"};
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::string override = Mutator(seed).mutate(valid[seed % std::size(valid)]);
    ASSERT_NO_FATAL_FAILURE(expect_sane("", {&override, 1})) << "seed " << seed;
  }
}

TEST(RandomJobFiles, LargeFilesAreReadInTime) {
  std::string keys;
  std::string variants = "[cluster]\nworkers = 40\n";
  for (int i = 0; i < 50'000; ++i) {
    keys += fmt::format("key_{} = 1\n", i);
  }
  for (int i = 0; i < 999; ++i) {
    variants += fmt::format("[[variant]]\nname = 'v{}'\ntrain.batch = {}\n", i, i + 40);
  }
  expect_sane(keys);
  expect_sane("[[variant]]\nname = 'a'\n" + keys);
  expect_sane(variants);
}

}  // namespace
}  // namespace motley
