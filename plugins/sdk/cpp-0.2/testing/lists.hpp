// Lists for the fakes, which are in C.
#pragma once

#include "witlet.hpp"

namespace witlet::testing::detail {

// Texts, and keys with values, one after the other and ended by NULL. It checks what it is made of.
class Strings {
  public:
    explicit Strings(const std::vector<std::string> &texts)
    {
        for (const std::string &text : texts)
            list_.push_back(text.c_str());
        list_.push_back(nullptr);
    }
    explicit Strings(const Pairs &pairs)
    {
        for (const auto &[key, value] : pairs) {
            list_.push_back(key.c_str());
            list_.push_back(value.c_str());
        }
        list_.push_back(nullptr);
    }

    const char *const *data() const { return list_.data(); }

  private:
    std::vector<const char *> list_;
};

} // namespace witlet::testing::detail
