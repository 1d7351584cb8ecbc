// Runs the projection core on a file of cases and prints a checksum of everything it wrote.
//
// File: numbers are 64-bit, of the machine. Groups of: config text, seed, count, texts; a text is
// its size and its bytes. Texts and outputs live in heap blocks of exactly their size, so that a
// sanitizer sees every byte read or written beside them. A config that is refused is counted, with
// its message.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "projection.h"

namespace {

using export_mobile::AnalysedText;
using export_mobile::Projection;

class Reader {
 public:
  explicit Reader(std::vector<char> bytes) : bytes_(std::move(bytes)) {}
  bool AtEnd() const { return at_ >= bytes_.size(); }
  uint64_t Number() {
    uint64_t value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  std::string_view Text() {
    const size_t size = Number();
    at_ += size;
    return {bytes_.data() + at_ - size, size};
  }

 private:
  std::vector<char> bytes_;
  size_t at_ = 0;
};

uint64_t checksum = 0xcbf29ce484222325ULL;

void Add(const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) checksum = (checksum ^ bytes[i]) * 0x100000001b3ULL;
}

template <typename T>
void WriteAndAdd(const Projection& projection, const AnalysedText& analysed, int64_t rows) {
  const size_t count = static_cast<size_t>(rows) * projection.config().feature_size;
  std::unique_ptr<T[]> out(new T[count]);
  projection.Write(analysed, rows, out.get());
  Add(out.get(), count * sizeof(T));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  Reader reader(std::vector<char>{std::istreambuf_iterator<char>(file), {}});
  int texts = 0;
  int refused = 0;
  while (!reader.AtEnd()) {
    const std::string_view stored = reader.Text();
    std::unique_ptr<char[]> text(new char[stored.size()]);
    std::memcpy(text.get(), stored.data(), stored.size());
    const uint64_t seed = reader.Number();
    const uint64_t count = reader.Number();
    export_mobile::ProjectionConfig config;
    Projection projection;
    export_mobile::FindConfig(text.get(), stored.size());
    export_mobile::Status status = export_mobile::ParseConfig({text.get(), stored.size()}, &config);
    if (status.ok()) status = Projection::Create(config, &projection);
    if (!status.ok()) {
      ++refused;
      Add(status.message.data(), status.message.size());
      for (uint64_t i = 0; i < count; ++i) reader.Text();
      continue;
    }
    const std::string shown = export_mobile::ConfigToText(config);
    Add(shown.data(), shown.size());
    // As TFLiteConverter stores it: a string in a FlexBuffer map, with a NUL behind it.
    const std::string wrapped = std::string("config\0", 7) +
                                std::string(text.get(), stored.size()) +
                                std::string("\0\x01\x07rest", 7);
    if (export_mobile::FindConfig(wrapped.data(), wrapped.size()) != stored) return 4;
    AnalysedText analysed;
    for (uint64_t i = 0; i < count; ++i, ++texts) {
      const std::string_view bytes = reader.Text();
      std::unique_ptr<char[]> exact(new char[bytes.size()]);
      std::memcpy(exact.get(), bytes.data(), bytes.size());
      if (!projection
               .Analyse({exact.get(), bytes.size()}, export_mobile::RowSeed(seed, i), &analysed)
               .ok())
        return 3;
      const int64_t length = projection.Length(analysed);
      Add(&length, sizeof(length));
      WriteAndAdd<int8_t>(projection, analysed, length);
      WriteAndAdd<float>(projection, analysed,
                         length / 2 + i % 7);  // fewer and more rows than there are
    }
  }
  std::printf("%d %d %016llx\n", texts, refused, static_cast<unsigned long long>(checksum));
  return 0;
}
