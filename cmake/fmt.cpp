// What fmt's headers leave to its library, compiled once for all of Rigel. Debian has that library as a
// shared object only, which a runtime that is dropped into other programs must not ask for; and as headers
// alone fmt is compiled again in every file that formats a message, which was a third of the time that a
// build took.
//
// Without locales, whose facet fmt 10 has a constructor for that every program would run.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template struct buffer<char>;
template void buffer<char>::append(const char*, const char*);
#if FMT_VERSION < 120000  // no template since then, and part of format-inl.h
template void vformat_to(buffer<char>&, string_view, basic_format_args<format_context>, locale_ref);
#endif
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
