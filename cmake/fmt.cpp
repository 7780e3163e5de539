// The functions that fmt's headers leave to its library, compiled once for Rigel. Debian's package has only a
// shared library, and a runtime that is loaded into other programs must not depend on it. Header-only fmt
// would be compiled in every file that formats a message, for a third of the build time.
//
// Without locales: every program would run the constructor of fmt 10's facet.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template struct buffer<char>;
template void buffer<char>::append(const char*, const char*);
#if FMT_VERSION < 120000  // not a template from version 12 on, and part of format-inl.h
template void vformat_to(buffer<char>&, string_view, basic_format_args<format_context>, locale_ref);
#endif
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
