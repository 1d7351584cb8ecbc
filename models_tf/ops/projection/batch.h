// A batch of texts through the projection, shared by the three runtime wrappers: analyse every row,
// find the common number of rows, check the size, write. Threads only when asked for.
//
// Knows no runtime: texts come as string views, the output is a plain buffer of the caller.
#ifndef EXPORT_MOBILE_BATCH_H_
#define EXPORT_MOBILE_BATCH_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "projection.h"

namespace export_mobile {

// An output above this is refused with a status. No runtime checks it for us: TensorFlow aborts on
// a shape that overflows, and on Linux a too large block is handed out and the process killed
// later.
constexpr int64_t kMaxOutputBytes = int64_t{1} << 32;

// Refuses an output that no runtime can hold.
inline Status CheckOutputSize(int64_t texts, int64_t steps, int64_t feature_size,
                              size_t value_size) {
  const int64_t row_bytes = feature_size * static_cast<int64_t>(value_size);
  if (texts <= 0 || steps <= kMaxOutputBytes / row_bytes / texts) return Status{};
  return Status{"The projection of a batch must take at most 4 GB. Received: " +
                std::to_string(texts) + " texts of " + std::to_string(steps) + " rows of " +
                std::to_string(row_bytes) + " bytes. Remedy: a smaller batch, or `max_tokens`."};
}

// Calls work(begin, end) on up to `threads` threads, the calling one among them. A failed thread
// start or an exception in a worker (memory) never leaves this function.
template <typename Work>
Status ParallelFor(int64_t count, int threads, const Work& work) {
  const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(threads, count));
  // Small blocks taken in turn, so that one long text does not leave the other threads idle.
  const int64_t block = parts == 1
                            ? std::max<int64_t>(count, 1)
                            : std::max<int64_t>(1, std::min<int64_t>(64, count / (parts * 4)));
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  const auto run = [&]() {
    try {
      for (int64_t begin = next.fetch_add(block); begin < count && !failed;
           begin = next.fetch_add(block)) {
        work(begin, std::min(count, begin + block));
      }
    } catch (const std::exception&) {
      failed = true;
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int64_t i = 1; i < parts; ++i) helpers.emplace_back(run);
  } catch (const std::exception&) {
    // No further thread to be had: those that run, and this one, do the work.
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  return failed ? Status{"The projection ran out of memory. Remedy: a smaller batch."} : Status{};
}

class Batch {
 public:
  // `texts` must outlive nothing: the analysed rows hold copies.
  Status Analyse(const Projection& projection, const std::vector<std::string_view>& texts,
                 uint64_t seed, int threads) {
    const int64_t count = static_cast<int64_t>(texts.size());
    std::vector<Status> failures;
    try {
      rows_.resize(texts.size());
      failures.resize(texts.size());
    } catch (const std::exception&) {
      return Status{"The projection ran out of memory. Remedy: a smaller batch."};
    }
    Status status = ParallelFor(count, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        failures[i] =
            projection.Analyse(texts[i], RowSeed(seed, static_cast<uint64_t>(i)), &rows_[i]);
      }
    });
    if (!status.ok()) return status;
    for (const Status& failure : failures) {
      if (!failure.ok()) return failure;
    }
    steps_ = projection.config().pad_to;
    if (steps_ == 0) {
      for (const AnalysedText& row : rows_) steps_ = std::max(steps_, projection.Length(row));
    }
    return Status{};
  }

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  // Rows of each text: `pad_to`, or the length of the longest text.
  int64_t steps() const { return steps_; }

  Status CheckSize(const Projection& projection, size_t value_size) const {
    return CheckOutputSize(size(), steps_, projection.config().feature_size, value_size);
  }

  // Writes size() * steps() * feature_size values and, unless null, size() lengths.
  template <typename Value>
  Status Write(const Projection& projection, int threads, Value* out, int32_t* lengths) const {
    const int64_t stride = steps_ * projection.config().feature_size;
    return ParallelFor(size(), threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        projection.Write(rows_[i], steps_, out + i * stride);
        if (lengths != nullptr) lengths[i] = static_cast<int32_t>(projection.Length(rows_[i]));
      }
    });
  }

 private:
  std::vector<AnalysedText> rows_;
  int64_t steps_ = 0;
};

}  // namespace export_mobile

#endif  // EXPORT_MOBILE_BATCH_H_
