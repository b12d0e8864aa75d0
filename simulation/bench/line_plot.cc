#include "simulation/bench/line_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "pkg/base/strings.h"

namespace yardmaster::bench {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 420;
constexpr double kLeft = 70;
constexpr double kRight = 190;  // with the legend
constexpr double kTop = 40;
constexpr double kBottom = 55;
constexpr int kTicks = 6;  // about as many
constexpr std::array<const char*, 8> kColours = {"#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad",
                                                 "#d68910", "#17becf", "#7f8c8d", "#34495e"};
// Of series from the first, second, ... use of the colours on.
constexpr std::array<const char*, 3> kDashes = {"", "5 3", "1 3"};

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

struct Range {
  double low = 0;
  double high = 1;
  void Include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// The 1, 2 or 5 times a power of ten that divides the range into about kTicks parts.
double StepOf(const Range& range) {
  const double part = (range.high - range.low) / kTicks;
  const double power = std::pow(10, std::floor(std::log10(part)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (part <= factor * power) return factor * power;
  }
  return 10 * power;
}

class Writer {
 public:
  explicit Writer(const Plot& plot) : plot_(plot) {
    for (const PlotSeries& series : plot.series) {
      for (const PlotPoint& point : series.points) {
        x_.Include(point.x);
        y_.Include(point.low);
        y_.Include(point.high);
      }
    }
    y_.high += 0.05 * (y_.high - y_.low);
  }

  std::string Write() {
    out_ = StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", kHeight,
                  "\" font-family=\"sans-serif\" font-size=\"12\">\n",
                  "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    Text(kLeft, 22, "start", plot_.title, 14);
    Text((kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", plot_.x_axis, 12);
    out_ += StrCat("<text transform=\"translate(18 ", kHeight / 2,
                   ") rotate(-90)\" text-anchor=\"middle\">", plot_.y_axis, "</text>\n");
    Axes();
    for (std::size_t s = 0; s < plot_.series.size(); ++s) Series(s);
    return out_ + "</svg>\n";
  }

 private:
  double X(double x) const {
    return kLeft + (x - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight);
  }
  double Y(double y) const {
    return kHeight - kBottom - (y - y_.low) / (y_.high - y_.low) * (kHeight - kTop - kBottom);
  }
  void Line(double x1, double y1, double x2, double y2, const char* colour, double width,
            const std::string& dash = "") {
    out_ += StrCat("<line x1=\"", Number(x1), "\" y1=\"", Number(y1), "\" x2=\"", Number(x2),
                   "\" y2=\"", Number(y2), "\" stroke=\"", colour, "\" stroke-width=\"", width,
                   dash.empty() ? "" : StrCat("\" stroke-dasharray=\"", dash), "\"/>\n");
  }
  void Text(double x, double y, const char* anchor, const std::string& text, int size) {
    out_ += StrCat("<text x=\"", Number(x), "\" y=\"", Number(y), "\" text-anchor=\"", anchor,
                   "\" font-size=\"", size, "\">", text, "</text>\n");
  }
  // Multiples of the step inside the range.
  template <typename Draw>
  static void ForEachTick(const Range& range, const Draw& draw) {
    const double step = StepOf(range);
    for (auto i = std::llround(std::ceil(range.low / step));; ++i) {
      const double value = static_cast<double>(i) * step;
      if (value > range.high + step * 1e-9) return;
      draw(value);
    }
  }
  void Axes() {
    ForEachTick(y_, [this](double y) {
      Line(X(x_.low), Y(y), X(x_.high), Y(y), "#e0e0e0", 1);
      Text(kLeft - 8, Y(y) + 4, "end", Number(y), 11);
    });
    ForEachTick(x_, [this](double x) {
      Line(X(x), kHeight - kBottom, X(x), kHeight - kBottom + 4, "#404040", 1);
      Text(X(x), kHeight - kBottom + 18, "middle", Number(x), 11);
    });
    Line(X(x_.low), Y(0), X(x_.high), Y(0), "#404040", 1);
  }
  void Series(std::size_t index) {
    const char* colour = kColours[index % kColours.size()];
    const char* dash = kDashes[index / kColours.size() % kDashes.size()];
    std::vector<PlotPoint> points = plot_.series[index].points;
    std::sort(points.begin(), points.end(),
              [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
    for (std::size_t p = 0; p < points.size(); ++p) {
      if (p > 0) {
        Line(X(points[p - 1].x), Y(points[p - 1].y), X(points[p].x), Y(points[p].y), colour, 1.5,
             dash);
      }
      Line(X(points[p].x), Y(points[p].low), X(points[p].x), Y(points[p].high), colour, 1);
      out_ += StrCat("<circle cx=\"", Number(X(points[p].x)), "\" cy=\"", Number(Y(points[p].y)),
                     "\" r=\"3\" fill=\"", colour, "\"/>\n");
    }
    const double y = kTop + 18.0 * static_cast<double>(index);
    Line(kWidth - kRight + 15, y, kWidth - kRight + 35, y, colour, 2, dash);
    Text(kWidth - kRight + 42, y + 4, "start", plot_.series[index].name, 12);
  }

  const Plot& plot_;
  Range x_;
  Range y_;
  std::string out_;
};

}  // namespace

std::string ToSvg(const Plot& plot) { return Writer(plot).Write(); }

}  // namespace yardmaster::bench
