"""The experiment as a picture: how much of what jobs reach alone every configuration leaves them, measured and
predicted, and how long failures stop them. Plain SVG."""

_WIDTH, _HEIGHT, _LEFT, _TOP = 760, 520, 60, 50
_MEASURED, _PREDICTED, _KERNEL = "#2563a8", "#b9cbe0", "#c2703d"


def _text(x, y, text, size=12, anchor="middle", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">{text}</text>')


def _bar(x, y, width, height, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(0.5, height):.1f}" fill="{colour}"/>'


def _configurations(rows):
    out = [_text(_LEFT, _TOP - 20, "GPU time that computes, as a share of what each job reaches alone", 14, "start", "bold")]
    height, step = 160, (_WIDTH - 2 * _LEFT) / max(1, len(rows))
    for tick in (0, 0.5, 1):
        y = _TOP + height * (1 - tick)
        out.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _LEFT}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        out.append(_text(_LEFT - 8, y + 4, f"{tick:.0%}", 11, "end"))
    for i, row in enumerate(rows):
        x = _LEFT + step * i + step / 2
        for offset, value, colour in ((-38, row["ofAlone"], _MEASURED), (2, row["predictedOfAlone"], _PREDICTED)):
            out.append(_bar(x + offset, _TOP + height * (1 - value), 36, height * value, colour))
            out.append(_text(x + offset + 18, _TOP + height * (1 - value) - 4, f"{value:.0%}", 11))
        out.append(_text(x, _TOP + height + 18, row["name"]))
    return out + _legend(_TOP + height + 40, (("measured", _MEASURED), ("simulated", _PREDICTED)))


def _failures(rows):
    top = _TOP + 270
    out = [_text(_LEFT, top - 20, "Longest delay of an iteration after a failure, seconds", 14, "start", "bold")]
    longest = max([1.0] + [v for r in rows for v in (r["stallSeconds"], r["kernelOnly"]["stallSeconds"])])
    scale = (_WIDTH - 2 * _LEFT - 120) / longest
    for i, row in enumerate(rows):
        y = top + i * 46
        out.append(_text(_LEFT + 52, y + 20, row["what"], 12, "end"))
        for offset, value, colour in ((0, row["stallSeconds"], _MEASURED), (18, row["kernelOnly"]["stallSeconds"], _KERNEL)):
            out.append(_bar(_LEFT + 60, y + offset, value * scale, 15, colour))
            out.append(_text(_LEFT + 66 + value * scale, y + offset + 12, f"{value:.2f}", 11, "start"))
    return out + _legend(top + len(rows) * 46 + 12, (("ports planned again", _MEASURED), ("left to the kernel", _KERNEL)))


def _legend(y, entries):
    out = []
    for i, (name, colour) in enumerate(entries):
        out += [_bar(_LEFT + i * 160, y - 10, 12, 12, colour), _text(_LEFT + 18 + i * 160, y, name, 12, "start")]
    return out


def svg(document):
    parts = _configurations(document["configurations"])
    if document.get("failures"):
        parts += _failures(document["failures"])
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif">'
            f'<rect width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>\n")
