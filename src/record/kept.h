// Kept: the first and the last entries of a long sequence, and how many were dropped in between.
// Memory is bounded however long a run takes; the beginning and the end are usually of most
// interest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "motley/state/archive.h"

namespace motley {

template <class Entry>
class Kept {
 public:
  // Keeps at most `limit` entries, half of them from the beginning.
  explicit Kept(std::size_t limit) : first_(limit - limit / 2), last_(limit / 2) {}

  // Keeps no more than so many from now on; those in the middle are dropped.
  void shrink(std::size_t limit) {
    Kept shrunk(limit);
    shrunk.left_out_ = left_out_;
    for_each([&](const Entry& entry) { shrunk.add(entry); });
    *this = std::move(shrunk);
  }

  void add(Entry entry) {
    if (entries_.size() < first_ + last_) {
      entries_.push_back(std::move(entry));
      return;
    }
    ++left_out_;
    if (last_ > 0) {
      entries_[first_ + oldest_] = std::move(entry);
      oldest_ = (oldest_ + 1) % last_;
    }
  }

  // Removes those for which `is_unwanted(entry)` holds; it may change the others.
  template <class Unwanted>
  void remove_if(Unwanted is_unwanted) {
    std::vector<Entry> wanted;
    for_each([&](Entry entry) {
      if (!is_unwanted(entry)) {
        wanted.push_back(std::move(entry));
      }
    });
    entries_ = std::move(wanted);
    oldest_ = 0;
  }

  // `columns(entries)` saves or restores the entries; to restore, it gets as many as there were.
  template <class Columns>
  void state(Archive& archive, Columns columns) {
    std::size_t size = entries_.size();
    archive("size", size);
    archive("oldest", oldest_);
    archive("left_out", left_out_);
    if (size > first_ + last_ || oldest_ >= std::max<std::size_t>(last_, 1)) {
      throw StateError("a list of the record is longer than it may be");
    }
    entries_.resize(size);
    columns(entries_);
  }

  std::size_t size() const { return entries_.size(); }
  std::size_t left_out() const { return left_out_; }
  // In the order of arrival.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      visit(entries_[i < first_ ? i : first_ + (i - first_ + oldest_) % last_]);
    }
  }

 private:
  std::size_t first_;
  std::size_t last_;
  std::vector<Entry> entries_;
  std::size_t oldest_ = 0;  // index of the oldest in the ring buffer last_
  std::size_t left_out_ = 0;
};

}  // namespace motley
