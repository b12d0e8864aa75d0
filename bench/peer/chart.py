"""Bar charts as SVG, without a library. Deterministic; readable in black and white."""
import xml.sax.saxutils

COLOURS = ["#8a8f98", "#c9a227", "#1f6f8b", "#2e8b57", "#5b2a86", "#b5523b"]
LETTER = 6.4  # width of one of 12 points in Helvetica, in the mean of schedulers' names
FONT = 'font-family="Helvetica,Arial,sans-serif"'


def text(x, y, words, size=12, anchor="start", more=""):
    return '<text x="%.1f" y="%.1f" %s font-size="%d" text-anchor="%s" fill="#222" %s>%s</text>' % (
        x, y, FONT, size, anchor, more, xml.sax.saxutils.escape(words))


def number(value):
    return "-" if value is None else "%.3g" % value if value < 1000 else "%d" % round(value)


def legend_of(names, left, right):
    """(x, line) of each name, on as many lines as they need."""
    places, x, line = [], left, 0
    for name in names:
        wide = 18 + LETTER * len(name)
        if x > left and x + wide > right:
            x, line = left, line + 1
        places.append((x, line))
        x += wide + 10
    return places


def bars(title, groups, names, better="less is better"):
    """`groups`: [(label, [a value for each of `names`])]; a value of None is left out."""
    width, left, top, height, slot = 720, 20, 70, 190, 640 / len(groups)
    legend = legend_of(names, left, width - left)
    tall = 320 + 18 * legend[-1][1]
    most = max((v for _, values in groups for v in values if v), default=1)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">' % (width, tall, width, tall),
           "<title>%s</title>" % xml.sax.saxutils.escape(title), '<rect width="100%" height="100%" fill="#fff"/>',
           text(left, 26, title, 16, more='font-weight="bold"'), text(left, 46, better, 12)]
    bar = slot * 0.8 / len(names)
    for g, (label, values) in enumerate(groups):
        x = left + g * slot + slot * 0.1
        for i, value in enumerate(values):
            bar_height = 0 if not value else height * value / most
            out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' % (
                x + i * bar, top + height - bar_height, bar * 0.9, bar_height, COLOURS[i % len(COLOURS)]))
            out.append(text(x + i * bar + bar * 0.45, top + height - bar_height - 4, number(value), 11, "middle"))
        out.append(text(x + slot * 0.4, top + height + 18, label, 12, "middle"))
    out.append('<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#222"/>' % (left, top + height, width - left, top + height))
    for i, (x, line) in enumerate(legend):
        out.append('<rect x="%.1f" y="%d" width="12" height="12" fill="%s"/>' % (x, 296 + 18 * line, COLOURS[i % len(COLOURS)]))
        out.append(text(x + 18, 306 + 18 * line, names[i], 12))
    return "\n".join(out + ["</svg>", ""])
