// sluice/report/site/script.h - the halves of the script of the page of stored visits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sluice::report {

const char* site_chart_script();  // draws one series
const char* site_page_script();   // what the reader does: choose, filter, zoom, open, follow

}  // namespace sluice::report
