// Counts: the numbers that a program adds up over all ranks, by name, and their totals.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "motley/state/archive.h"

namespace motley {

class Counts {
 public:
  // Throws Refused if a name is empty or there twice, or if there are too many.
  explicit Counts(std::vector<std::string> names);

  // Throws std::invalid_argument if there is no such name.
  void add(const std::string& name, double number);
  // What was added since the last call, in the order of the names.
  std::vector<double> take();

  // All ranks together have added this, in the order of the names.
  void add_to_totals(const std::vector<double>& more);
  void set_totals(const std::vector<double>& totals);
  std::map<std::string, double> totals() const;

  // One line that is the same on all ranks.
  std::string describe() const;
  // The totals. Of the names that the program no longer has, they are forgotten.
  void state(Archive& archive);

 private:
  const std::vector<std::string> names_;
  std::vector<double> added_;
  std::vector<double> totals_;
};

}  // namespace motley
