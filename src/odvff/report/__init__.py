"""A report for people: one HTML file that explains a fitted model, with pictures, and needs nothing else."""

from odvff.report.page import render, write_report

__all__ = ["render", "write_report"]
