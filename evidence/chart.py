"""Accuracy over training time as an SVG picture."""
import json
import pathlib

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 56, 16, 16, 44
COLORS = ["#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#475569"]
TICKS = 5


def points_of(run_directory):
    """[(seconds, accuracy)] of a run directory."""
    lines = (pathlib.Path(run_directory) / "metrics.jsonl").read_text().splitlines()
    return [(metric["seconds"], metric["accuracy"]) for metric in map(json.loads, lines)]


def draw(runs, least=None):
    """The picture of {label: points}; what is below the accuracy `least` is left out."""
    if least is not None and any(accuracy >= least for p in runs.values() for _, accuracy in p):
        runs = {label: [p for p in points if p[1] >= least] for label, points in runs.items()}
    last = max(seconds for points in runs.values() for seconds, _ in points)
    values = [accuracy for points in runs.values() for _, accuracy in points]
    low, high = min(values) - 0.01, max(values) + 0.01

    def x(seconds):
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / last

    def y(accuracy):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (accuracy - low) / (high - low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        "<title>Accuracy over training time</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for i in range(TICKS):
        accuracy = low + (high - low) * i / (TICKS - 1)
        seconds = last * i / (TICKS - 1)
        out.append(
            f'<path d="M{LEFT} {y(accuracy):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y(accuracy) + 4:.1f}" text-anchor="end">{accuracy:.2f}</text>'
            f'<text x="{x(seconds):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
            f"{seconds:.1f}</text>"
        )
    out.append(
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">seconds of training</text>'
    )
    for number, (label, points) in enumerate(runs.items()):
        color = COLORS[number % len(COLORS)]
        line = " ".join(f"{x(s):.1f},{y(a):.1f}" for s, a in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        out.append(
            f'<text x="{WIDTH - RIGHT - 8}" y="{HEIGHT - BOTTOM - 14 - 16 * number}" '
            f'text-anchor="end" fill="{color}">{label}</text>'
        )
    return "\n".join(out + ["</svg>"]) + "\n"
