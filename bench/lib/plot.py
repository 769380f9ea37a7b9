# SPDX-License-Identifier: MIT
"""Plots by gnuplot: an SVG file, and the same in letters for the terminal."""
import os
import shutil
import subprocess

from bench import OUT, SMOKE

COLOURS = ["#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3"]


def _quote(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def _common(title, x_label, y_label):
    return ["set title %s noenhanced" % _quote(title), "set xlabel %s noenhanced" % _quote(x_label),
            "set ylabel %s noenhanced" % _quote(y_label), "set key outside bottom center horizontal",
            "set grid ytics", "set yrange [0:*]"]


def _draw(name, lines, plot):
    if not shutil.which("gnuplot"):
        print("(no plot: gnuplot is not installed)")
        return
    os.makedirs(OUT, exist_ok=True)
    svg = os.path.join(OUT, name + ".svg")
    for terminal in (["set terminal svg size 760,420 background rgb 'white'",
                      "set output %s" % _quote(svg)],
                     ["set terminal dumb 78 20"]):
        script = "\n".join(terminal + lines + [plot]) + "\n"
        done = subprocess.run(["gnuplot"], input=script.encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode:
            print("(no plot: %s)" % done.stderr.decode("utf8", "replace").strip())
            return
        if not SMOKE and done.stdout:
            print(done.stdout.decode("utf8", "replace"))
    print("plot: %s" % svg)


def bars(name, title, y_label, groups, series):
    """@groups: names along the x axis; @series: name -> one value for each group."""
    lines = _common(title, "", y_label)
    lines += ["set style data histograms", "set style histogram clustered gap 1",
              "set style fill solid 0.8", "set xtics noenhanced", "$data << END"]
    for i, group in enumerate(groups):
        lines.append(" ".join([_quote(group)] + ["%g" % values[i] for values in series.values()]))
    lines.append("END")
    plots = ["$data using %d:xtic(1) title %s noenhanced linecolor rgb '%s'" % (
        i + 2, _quote(serie), COLOURS[i % len(COLOURS)]) for i, serie in enumerate(series)]
    _draw(name, lines, "plot " + ", ".join(plots))


def curves(name, title, axes, series, log_x=True, log_y=False):
    """@axes: labels of x and y; @series: name -> list of (x, y)."""
    lines = _common(title, *axes)
    if log_x:
        lines.append("set logscale x 2")
    if log_y:
        lines += ["set yrange [*:*]", "set logscale y"]
    for i, points in enumerate(series.values()):
        lines += ["$data%d << END" % i] + ["%g %g" % point for point in points] + ["END"]
    plots = ["$data%d with linespoints title %s noenhanced linewidth 2 linecolor rgb '%s'" % (
        i, _quote(serie), COLOURS[i % len(COLOURS)]) for i, serie in enumerate(series)]
    _draw(name, lines, "plot " + ", ".join(plots))
