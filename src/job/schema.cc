#include "job/schema.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "job/keys.h"
#include "job/suggest.h"

namespace motley {

JobSchema::JobSchema(std::vector<const MethodSchema*> methods) : methods_(std::move(methods)) {
  for (const MethodSchema* method : methods_) {
    choices_.push_back({method->name, method->summary});
  }
  for (const Key<Job>& key : keys_before_methods()) {
    add(key);
  }
  for (const MethodSchema* method : methods_) {
    for (Key<Job> key : method->keys) {
      key.method = method->name;
      add(key);
    }
  }
  for (const Key<Job>& key : keys_after_methods()) {
    add(key);
  }
}

// Inserts the key after the last key of its section; at the end if the section is new.
void JobSchema::add(Key<Job> key) {
  if (key.name == "strategy.sync") {
    std::get<OneOf>(key.rule).choices = choices_;
  }
  const auto is_neighbour = [&](const Key<Job>& other) {
    return section_of(other.name) == section_of(key.name);
  };
  const auto last = std::ranges::find_if(keys_.rbegin(), keys_.rend(), is_neighbour);
  keys_.insert(last == keys_.rend() ? keys_.end() : last.base(), key);
}

const Key<Job>* JobSchema::find(std::string_view name) const {
  const auto found = std::ranges::find(keys_, name, &Key<Job>::name);
  return found == keys_.end() ? nullptr : &*found;
}

const MethodSchema* JobSchema::method(std::string_view name) const {
  const auto found = std::ranges::find(methods_, name, &MethodSchema::name);
  return found == methods_.end() ? nullptr : *found;
}

const MethodSchema& JobSchema::method_of(const Job& job) const {
  return job.strategy.sync.empty() ? *methods_.front() : *method(job.strategy.sync);
}

Job JobSchema::default_job() const {
  Job job;
  job.cluster.workers = 4;
  job.strategy.sync = methods_.front()->name;
  return job;
}

bool JobSchema::applies(const Key<Job>& key, const Job& job) const {
  const bool is_chosen = key.method.empty() || key.method == job.strategy.sync;
  return is_chosen && (!key.belongs.applies || key.belongs.applies(job, method_of(job)));
}

bool JobSchema::is_section(std::string_view name) const {
  return std::ranges::any_of(keys_,
                             [&](const Key<Job>& key) { return section_of(key.name) == name; });
}

// Tries in turn: a typo in the last word, the right word in the wrong section, a typo in the
// section.
std::string_view JobSchema::nearest(std::string_view name) const {
  std::vector<std::string_view> all;
  for (const Key<Job>& key : keys_) {
    const std::string_view section = section_of(key.name);
    if (!section.empty() && std::ranges::find(all, section) == all.end()) {
      all.push_back(section);
    }
    all.push_back(key.name);
  }
  std::vector<std::string_view> neighbours;
  std::ranges::copy_if(all, std::back_inserter(neighbours), [&](std::string_view candidate) {
    return section_of(candidate) == section_of(name);
  });
  if (!neighbours.empty()) {
    std::vector<std::string_view> words;
    std::ranges::transform(neighbours, std::back_inserter(words), last_part);
    const std::string_view word = motley::nearest(last_part(name), words);
    if (const auto found = std::ranges::find(words, word); found != words.end()) {
      return neighbours[static_cast<std::size_t>(found - words.begin())];
    }
    const auto begins = [&](std::string_view word_of) {
      return word_of.starts_with(last_part(name));
    };
    if (const auto found = std::ranges::find_if(words, begins); found != words.end()) {
      return neighbours[static_cast<std::size_t>(found - words.begin())];
    }
  }
  // In a method's section the keys of another method would not help.
  const auto is_same_word = [&](const Key<Job>& key) {
    return last_part(key.name) == last_part(name) && (neighbours.empty() || key.method.empty());
  };
  // Of several, the one that is least deep: "workers" is more often about the cluster.
  const auto depth = [](std::string_view key) { return std::ranges::count(key, '.'); };
  const Key<Job>* same = nullptr;
  for (const Key<Job>& key : keys_) {
    if (is_same_word(key) && (same == nullptr || depth(key.name) < depth(same->name))) {
      same = &key;
    }
  }
  if (same != nullptr) {
    return same->name;
  }
  return neighbours.empty() ? motley::nearest(name, all) : "";
}

}  // namespace motley
