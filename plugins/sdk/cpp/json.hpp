// JSON as views of its text, for configurations, parameters and manifests.
#pragma once

#include <limits>

#include "witlet.hpp"

namespace witlet {

// A value of a JSON text, or none: what isn't there, or isn't JSON, has nothing in it, and asking on is no mistake. It is a view, and
// must not outlive the text.
//
//     witlet::Json manifest = witlet::Json::parse(text);
//     std::optional<std::string> image = manifest["spec"]["containers"][0]["image"].string();
class Json {
  public:
    // How deep arrays and objects may be in each other: the stack is small.
    static constexpr int depth_max = 64;

    Json() = default;

    // Reads a text that is one JSON value in UTF-8 and nothing else. No value if it isn't.
    static Json parse(std::string_view text)
    {
        if (!is_utf8(text))
            return {};
        Scanner scanner{text};
        scanner.skip();
        std::string_view from_here = scanner.rest;
        if (!scanner.value(0))
            return {};
        Json json(from_here.substr(0, from_here.size() - scanner.rest.size()));
        scanner.skip();
        return scanner.rest.empty() ? json : Json();
    }
    static Json parse(const char *text) { return parse(std::string_view(text)); }
    static Json parse(std::string &&text) = delete;

    // Whether there is a value.
    explicit operator bool() const { return !text_.empty(); }
    bool is_object() const { return begins('{'); }
    bool is_array() const { return begins('['); }
    bool is_string() const { return begins('"'); }
    bool is_null() const { return begins('n'); }

    // The text of the value as it was written.
    std::string_view text() const { return text_; }

    // The text that a string stands for. Half a surrogate pair becomes U+FFFD.
    std::optional<std::string> string() const
    {
        return is_string() ? std::optional(decode(text_.substr(1, text_.size() - 2))) : std::nullopt;
    }

    std::optional<bool> boolean() const
    {
        return begins('t') || begins('f') ? std::optional(begins('t')) : std::nullopt;
    }

    // A whole number from `min` to `max`, exactly; none if it is written with a point or an exponent.
    std::optional<int64_t> integer(int64_t min = std::numeric_limits<int64_t>::min(),
                                   int64_t max = std::numeric_limits<int64_t>::max()) const
    {
        int64_t number = 0;
        const char *end = text_.data() + text_.size();
        auto [stopped, error] = std::from_chars(text_.data(), end, number);
        bool is_whole = !text_.empty() && error == std::errc() && stopped == end;
        return is_whole && number >= min && number <= max ? std::optional(number) : std::nullopt;
    }

    // The items of an array, in their order.
    std::vector<Json> items() const
    {
        std::vector<Json> items;
        if (is_array())
            each([&](std::string_view, Json value) { items.push_back(value); });
        return items;
    }

    // The members of an object, in their order.
    std::vector<std::pair<std::string, Json>> members() const
    {
        std::vector<std::pair<std::string, Json>> members;
        if (is_object())
            each([&](std::string_view key, Json value) { members.emplace_back(decode(key), value); });
        return members;
    }

    // The member of an object with this name, the first of several.
    Json operator[](std::string_view name) const
    {
        for (const auto &[key, value] : members()) {
            if (key == name)
                return value;
        }
        return {};
    }
    Json operator[](const char *name) const { return (*this)[std::string_view(name)]; }

    // The item of an array at this index.
    template <std::integral Index>
    Json operator[](Index index) const
    {
        std::vector<Json> all = items();
        return std::in_range<size_t>(index) && static_cast<size_t>(index) < all.size() ? all[static_cast<size_t>(index)] : Json();
    }

  private:
    // What is still to be read. Each function takes something off its beginning; false if that isn't there.
    struct Scanner {
        std::string_view rest;

        void skip()
        {
            while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\r' || rest[0] == '\t'))
                rest.remove_prefix(1);
        }

        bool take(std::string_view word)
        {
            bool is_there = rest.starts_with(word);
            rest.remove_prefix(is_there ? word.size() : 0);
            return is_there;
        }

        bool is_digit() const { return !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; }

        bool digits()
        {
            bool are_there = is_digit();
            while (is_digit())
                rest.remove_prefix(1);
            return are_there;
        }

        bool number()
        {
            take("-");
            if (!take("0") && !digits())
                return false;
            if (take(".") && !digits())
                return false;
            if (!take("e") && !take("E"))
                return true;
            if (!take("+"))
                take("-");
            return digits();
        }

        // The value of four hexadecimal digits; -1 if they aren't.
        int32_t hex()
        {
            uint32_t value = 0;
            if (rest.size() < 4)
                return -1;
            auto [end, error] = std::from_chars(rest.data(), rest.data() + 4, value, 16);
            if (error != std::errc() || end != rest.data() + 4)
                return -1;
            rest.remove_prefix(4);
            return static_cast<int32_t>(value);
        }

        bool string()
        {
            if (!take("\""))
                return false;
            while (!rest.empty()) {
                char letter = rest[0];
                rest.remove_prefix(1);
                if (letter == '"')
                    return true;
                if (static_cast<unsigned char>(letter) < 0x20)
                    return false;
                if (letter == '\\' && !escape())
                    return false;
            }
            return false;
        }

        bool escape()
        {
            if (rest.empty())
                return false;
            char letter = rest[0];
            rest.remove_prefix(1);
            return letter == 'u' ? hex() >= 0 : std::string_view("\"\\/bfnrt").contains(letter);
        }

        // Items with commas between them, up to the bracket that ends them.
        bool list(std::string_view close, bool of_object, int depth)
        {
            if (depth == depth_max)
                return false;
            skip();
            if (take(close))
                return true;
            do {
                skip();
                if (of_object && !key())
                    return false;
                if (!value(depth + 1))
                    return false;
                skip();
            } while (take(","));
            return take(close);
        }

        bool key()
        {
            if (!string())
                return false;
            skip();
            bool is_there = take(":");
            skip();
            return is_there;
        }

        bool value(int depth)
        {
            if (take("{"))
                return list("}", true, depth);
            if (take("["))
                return list("]", false, depth);
            if (!rest.empty() && rest[0] == '"')
                return string();
            return take("true") || take("false") || take("null") || number();
        }
    };

    explicit Json(std::string_view text) : text_(text) {}

    bool begins(char letter) const { return !text_.empty() && text_[0] == letter; }

    // Calls with each key, as it is written between its quotes, and value. The text was found to be good before.
    template <class Use>
    void each(Use use) const
    {
        bool of_object = is_object();
        Scanner scanner{text_.substr(1)};
        scanner.skip();
        while (!scanner.rest.starts_with('}') && !scanner.rest.starts_with(']')) {
            std::string_view before = scanner.rest, key;
            if (of_object) {
                scanner.string();
                key = before.substr(1, before.size() - scanner.rest.size() - 2);
                scanner.skip();
                scanner.take(":");
                scanner.skip();
                before = scanner.rest;
            }
            scanner.value(0);
            use(key, Json(before.substr(0, before.size() - scanner.rest.size())));
            scanner.skip();
            scanner.take(",");
            scanner.skip();
        }
    }

    static void encode(uint32_t point, std::string &text)
    {
        auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
        if (point < 0x80) {
            add(point);
            return;
        }
        int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
        add((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | point >> (6 * more));
        while (more-- > 0)
            add(0x80 | (point >> (6 * more) & 0x3f));
    }

    // The code point of \uXXXX, or of two that are a pair.
    static uint32_t escaped(Scanner &scanner)
    {
        auto point = static_cast<uint32_t>(scanner.hex());
        if (point < 0xd800 || point > 0xdfff)
            return point;
        Scanner ahead = scanner;
        int32_t low = point < 0xdc00 && ahead.take("\\u") ? ahead.hex() : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return 0xfffd;
        scanner = ahead;
        return 0x10000 + ((point - 0xd800) << 10) + (static_cast<uint32_t>(low) - 0xdc00);
    }

    static std::string decode(std::string_view written)
    {
        static constexpr std::string_view letters = "bfnrt", stand_for = "\b\f\n\r\t";
        std::string text;
        text.reserve(written.size());
        for (Scanner scanner{written}; !scanner.rest.empty();) {
            char letter = scanner.rest[0];
            scanner.rest.remove_prefix(1);
            if (letter != '\\') {
                text += letter;
                continue;
            }
            letter = scanner.rest[0];
            scanner.rest.remove_prefix(1);
            size_t known = letters.find(letter);
            if (letter == 'u')
                encode(escaped(scanner), text);
            else
                text += known == std::string_view::npos ? letter : stand_for[known];
        }
        return text;
    }

    std::string_view text_;
};

// A text as a JSON string, in its quotes.
inline std::string json_quoted(std::string_view text)
{
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string json = "\"";
    for (char letter : lossy(text)) {
        auto byte = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\')
            json += '\\';
        if (byte >= 0x20)
            json += letter;
        else
            (json += "\\u00") += {digits[byte >> 4], digits[byte & 15]};
    }
    return json += '"';
}

namespace detail {

inline Result<Json> read_object(std::string_view text, std::initializer_list<std::string_view> known, std::string_view whole,
                                std::string_view part)
{
    Json json = Json::parse(text);
    if (json.is_null())
        json = Json::parse("{}");
    if (!json.is_object())
        return fail(whole, " a JSON object");
    for (const auto &[key, value] : json.members()) {
        bool is_known = false;
        for (std::string_view name : known)
            is_known |= name == key;
        if (!is_known)
            return fail("unknown ", part, " \"", key, "\"");
    }
    return json;
}

} // namespace detail

// Reads a configuration, an object that has these fields at most; `null` stands for `{}`. A view of the text.
inline Result<Json> read_config(std::string_view config, std::initializer_list<std::string_view> fields)
{
    return detail::read_object(config, fields, "the configuration isn't", "field");
}

// The same for the parameters of a probe.
inline Result<Json> read_parameters(std::string_view parameters, std::initializer_list<std::string_view> names)
{
    return detail::read_object(parameters, names, "the parameters aren't", "parameter");
}

} // namespace witlet
