// A session of one process. A process has one at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "motley/session.h"

namespace motley {

struct LoneSession {
  explicit LoneSession(std::vector<std::string> flags = {})
      : words(std::move(flags)), argc(static_cast<int>(words.size()) + 1), session(argc, argv()) {}

  std::vector<std::string> words;
  std::string name = "program";
  std::vector<char*> pointers = {};
  int argc;
  Session session;

 private:
  char** argv() {
    pointers = {name.data()};
    for (std::string& word : words) {
      pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    return pointers.data();
  }
};

}  // namespace motley
