// SampleOrder: the order of the samples within an epoch (motley/allocate/ledger.h).
#pragma once

namespace motley {

enum class SampleOrder {
  kShuffled,    // another random order in each epoch
  kSequential,  // as in the data set
  // The data set is cut into as many streams of the same length as a batch has samples, and step t
  // of an epoch has the t-th sample of each. So a place in the batch goes through one stream.
  kStreams,
  kOwn,  // a program's: the ledger says the number of each sample in the run, from 0
};

}  // namespace motley
