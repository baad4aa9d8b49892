"""Figure 3 of the paper: where every snapshot is one step, expansions in dt end at a floor; exact equations do not."""

from __future__ import annotations

from matplotlib.figure import Figure

from trackless.reproduce.panels import PANELS, coarse, exact_errors, exact_parts, zero_gap_parts
from trackless.reproduce.pool import pool_parts
from trackless.reproduce.protocol import Context, Part
from trackless.reproduce.sample_size import LETTERS, color_of, draw_rates, table_key, table_of
from trackless.reproduce.sections import Section

TITLE = "Discrete-time data (Figure 3)"


def parts(context: Context) -> list[Part]:
    finest = pool_parts(context, "reference") if min(context.protocol.intervals) <= context.protocol.step else []
    kept = context.store.has(table_key(PANELS[2]))
    return [
        *(part._replace(done=part.done or kept) for part in (*finest, *zero_gap_parts(context))),
        *exact_parts(context),
    ]


def section(context: Context) -> Section:
    errors = table_of(context, PANELS[2])
    result = Figure(figsize=(11, 4), layout="constrained")
    axes = result.subplots(1, 2, sharey=True)
    for role, axis in enumerate(axes):
        draw_rates(axis, errors, role, PANELS[2])
        for dt in coarse(context):
            exact = exact_errors(context, dt)
            sizes = sorted(int(size) for size in exact)
            means = [exact[str(size)][:, role].mean() for size in sizes]
            axis.plot(sizes, means, color=color_of(dt), ls=":", marker="D", ms=5, label=f"dt = {dt:g}, exactly")
        axis.set_title(LETTERS[role])
    axes[0].set_ylabel("error of the gradient (%)")
    result.legend(*axes[1].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9,
                  title="open symbols: the paper's", title_fontsize=9)  # fmt: skip
    largest = max(context.protocol.sizes)
    said = "; ".join(
        f"dt = {dt:g}: floor "
        + " / ".join(f"{e:.1f}" for e in errors[largest, dt].mean(axis=0))
        + ", exactly "
        + " / ".join(f"{e:.1f}" for e in exact_errors(context, dt)[str(largest)].mean(axis=0))
        for dt in coarse(context)
    )
    text = (
        "The self-test expands one step in dt and keeps a bias of that order however many runs there are. The mean of "
        'a test function after a step is known exactly, and `dynamics="discrete"` uses it (dotted lines). '
        f"At {largest} runs, V / Phi in %: {said}.",
    )
    return Section(TITLE, text, (), {"discrete_bias": result})
