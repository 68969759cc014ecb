"""
What the harness costs, beside the same work written by hand.

``python -m benchmarks`` prints the table, writes a JSON file and, where matplotlib is installed,
a plot. Every figure is a ratio measured side by side in one run: trust ratios, not microseconds.
"""
