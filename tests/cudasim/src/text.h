// printf into a std::string.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

namespace cudasim {

__attribute__((format(printf, 1, 2))) inline std::string text(const char *format, ...) {
    char buffer[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    return buffer;
}

} // namespace cudasim
