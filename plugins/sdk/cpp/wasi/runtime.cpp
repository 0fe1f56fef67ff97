// How a plugin ends what can't go on. The C++ library's own way prints, for which a component would import standard error and, with it, files.
#include <cstdarg>

#include "witlet.hpp"

// What the library found to be wrong: a line of the log, and a trap. Of the format only texts are filled in.
[[noreturn, maybe_unused]] static void give_up(const char *format, va_list arguments)
{
    std::string message;
    for (std::string_view rest = format; !rest.empty();) {
        size_t before = rest.find('%');
        message += rest.substr(0, before);
        rest.remove_prefix(std::min(before, rest.size()));
        if (!rest.starts_with("%s"))
            break;
        message += va_arg(arguments, const char *);
        rest.remove_prefix(2);
    }
    witlet::log(witlet::Level::error, message);
    __builtin_trap();
}

// Both are replaced where the library has them under these names: that of LLVM 20 and later. Others print.
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 200000

_LIBCPP_BEGIN_NAMESPACE_STD
void __libcpp_verbose_abort(const char *format, ...) noexcept
{
    va_list arguments;
    va_start(arguments, format);
    ::give_up(format, arguments);
}
_LIBCPP_END_NAMESPACE_STD

#endif
