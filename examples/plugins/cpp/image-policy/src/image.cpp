#include "image.hpp"

#include <algorithm>

// Whether the first part of a reference is a registry and not a folder of the default one.
static bool is_registry(std::string_view part)
{
    auto is_capital = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
    return part == "localhost" || part.find_first_of(".:") != part.npos || std::ranges::any_of(part, is_capital);
}

// A reference without its tag, which is behind the last slash.
static std::string_view without_tag(std::string_view reference)
{
    size_t last_part = reference.rfind('/') + 1;
    size_t tag = reference.rfind(':');
    return tag != reference.npos && tag >= last_part ? reference.substr(0, tag) : reference;
}

Image Image::read(std::string_view reference)
{
    std::string_view name = reference.substr(0, reference.find('@'));
    std::string_view digest = reference.substr(name.size());
    std::string_view first = name.substr(0, name.find('/'));
    std::string place;
    if (first.size() == name.size())
        place = "docker.io/library/";
    else if (!is_registry(first))
        place = "docker.io/";
    place += without_tag(name);
    return {std::move(place), digest.starts_with("@sha256:")};
}
