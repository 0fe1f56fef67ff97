// What the host gave, as JSON: keys are the contract's names.
#pragma once

#include <chrono>

#include "json.hpp"

// JSON that is being written. A value goes into the object or list that was begun last; in a list its key is empty.
class Tell {
  public:
    // Begins an object ('{') or a list ('['), and ends it ('}', ']').
    void begin(std::string_view key, char bracket);
    void end(char bracket);

    // Adds a text.
    void text(std::string_view key, std::string_view text);
    // Adds what needs no quotes: `null`, `true`, a number, JSON.
    void word(std::string_view key, std::string_view word);
    // Adds a text that is JSON as the value that it is.
    void json(std::string_view key, const std::string &text);

    template <std::integral Number>
    void number(std::string_view key, Number number)
    {
        word(key, witlet::concat(number));
    }

    // Adds pairs of texts as lists of two, texts as a list, and what there is at each of the pointers: a text or null.
    void pairs(std::string_view key, const witlet::Pairs &pairs);
    void texts(std::string_view key, const std::vector<std::string> &texts);
    template <class Pointer>
    void pointers(std::string_view key, witlet::Json pointers, Pointer pointer)
    {
        begin(key, '{');
        for (witlet::Json item : pointers.items()) {
            std::string path = item.string().value_or("");
            std::optional<std::string> value = pointer(path);
            member(path, value ? witlet::json_quoted(*value) : "null");
        }
        end('}');
    }

    // Adds a list of objects, each filled in by `item`.
    template <class Items, class Item>
    void objects(std::string_view key, const Items &items, Item item)
    {
        begin(key, '[');
        for (const auto &each : items) {
            begin("", '{');
            item(each);
            end('}');
        }
        end(']');
    }

    // All that was written.
    std::string take() { return std::move(json_); }

  private:
    void comma();
    // With a key in any case: that of a member may be empty.
    void member(std::string_view key, std::string_view word);

    std::string json_;
    bool comma_ = false;
};

// Settings that may say that they are refused: {"refuse": "words"}.
witlet::Result<void> check_settings(std::string_view settings);

// The text of an object's member, or none.
std::string member_text(witlet::Json object, std::string_view key);

// The whole number of an object's member, or 0.
int64_t member_number(witlet::Json object, std::string_view key);

// The whole number of an object's member as milliseconds, if it is there.
std::optional<std::chrono::milliseconds> member_duration(witlet::Json object, std::string_view key);
