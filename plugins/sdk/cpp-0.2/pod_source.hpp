// What a pod source of contract 0.2 is given, in C++23. What each function says stands in the book and in wit/.
//
//     class Source {
//       public:
//         static witlet::Outcome<Source> from_config(std::string_view config);
//         witlet::Outcome<void> poll(std::optional<std::string_view> cursor, witlet::pod_source::Answer answer) const;
//     };
//
//     WITLET_POD_SOURCE(Source)
//
// A source that receives how its pods are has `witlet::Outcome<void> notify(witlet::pod_source::News news) const`, the line
// WITLET_FEEDBACK(Source), and the world pod-source-with-feedback. See contract.hpp for answers and errors.
#pragma once

#define WITLET_HAS_POD_SOURCE
#include "contract.hpp"
#include "things.hpp"

namespace witlet::pod_source {

using detail::option;

// News of one of the source's pods.
class Change {
  public:
    explicit Change(witlet_pod_source_source_types_own_change_t handle) : handle_(owned(handle)) {}

    std::string kind() const { return get(witlet_pod_source_source_types_method_change_kind, borrow()); }
    std::string namespace_() const { return get(witlet_pod_source_source_types_method_change_namespace, borrow()); }
    std::string name() const { return get(witlet_pod_source_source_types_method_change_name, borrow()); }
    std::string uid() const { return get(witlet_pod_source_source_types_method_change_uid, borrow()); }
    std::string phase() const { return get(witlet_pod_source_source_types_method_change_phase, borrow()); }
    std::string reason() const { return get(witlet_pod_source_source_types_method_change_reason, borrow()); }
    std::string message() const { return get(witlet_pod_source_source_types_method_change_message, borrow()); }
    std::optional<std::string> status() const
    {
        return get_option(witlet_pod_source_source_types_method_change_status, borrow());
    }

  private:
    witlet_pod_source_source_types_borrow_change_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_pod_source_source_types_own_change_t{})) handle_;
};

// News of the source's pods.
class News {
  public:
    News(witlet_pod_source_source_types_borrow_news_t handle) : handle_(handle) {}

    std::optional<Change> next() const { return option<Change>(witlet_pod_source_source_types_method_news_next, borrow()); }

  private:
    witlet_pod_source_source_types_borrow_news_t borrow() const { return handle_; }

    witlet_pod_source_source_types_borrow_news_t handle_;
};

// A cursor for a source whose place to check has no version of its own: a short text that changes with what is added, its number and its
// order. It detects changes that happen, not those that are made in order not to be seen.
class Fingerprint {
  public:
    void add(std::string_view part)
    {
        // Lengths keep parts apart.
        for (int shift = 0; shift < 64; shift += 8)
            byte(static_cast<uint8_t>(static_cast<uint64_t>(part.size()) >> shift));
        for (char letter : part)
            byte(static_cast<uint8_t>(letter));
    }

    std::string text() const
    {
        std::array<char, 16> digits;
        auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), hash_, 16);
        return std::string(digits.data(), end);
    }

  private:
    // FNV-1a.
    void byte(uint8_t value) { hash_ = (hash_ ^ value) * 0x100000001b3u; }

    uint64_t hash_ = 0xcbf29ce484222325u;
};

} // namespace witlet::pod_source

// Has a pod source receive news. Stands once, in no namespace, after WITLET_POD_SOURCE.
#define WITLET_FEEDBACK(Type)                                                                                                  \
    bool exports_witlet_pod_source_feedback_notify(exports_witlet_pod_source_feedback_borrow_news_t news,                      \
                                                   exports_witlet_pod_source_feedback_own_error_t *error)                      \
    {                                                                                                                          \
        auto source = witlet::detail::loaded<Type>();                                                                          \
        return witlet::detail::done(source ? (*source)->notify(witlet::pod_source::News(news))                                 \
                                           : std::unexpected(source.error()),                                                  \
                                    error);                                                                                    \
    }
