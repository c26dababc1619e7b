#include <boost/json/serialize.hpp>

#include <string>
#include <string_view>

#include "replay/report.h"

namespace weir::lab {
namespace {

constexpr std::string_view kPage =
#include "replay/report_html.inc"
    ;
constexpr std::string_view kPlace = "@WEIR_REPORT@";

}  // namespace

std::string report_page(const boost::json::object& report) {
  const auto place = kPage.find(kPlace);
  std::string page(kPage.substr(0, place));
  for (const char c : boost::json::serialize(report)) {
    if (c == '<') {
      page += "\\u003c";  // no text of a log ends the script
    } else {
      page += c;
    }
  }
  return page.append(kPage.substr(place + kPlace.size()));
}

}  // namespace weir::lab
