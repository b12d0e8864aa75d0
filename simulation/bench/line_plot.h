// A plot of lines with error bars, as an SVG document that needs nothing else.
// Thread safety: pure function.
#pragma once

#include <string>
#include <vector>

namespace yardmaster::bench {

struct PlotPoint {
  double x = 0;
  double y = 0;
  double low = 0;  // of the error bar
  double high = 0;
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  // drawn in the order of x
};

struct Plot {
  std::string title;
  std::string x_axis;
  std::string y_axis;
  std::vector<PlotSeries> series;
};

// The document. The ranges of both axes contain 0 and 1.
std::string ToSvg(const Plot& plot);

}  // namespace yardmaster::bench
