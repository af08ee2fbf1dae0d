"""How far times agree with others: rank correlation (Spearman's, ties at their mean) and median error."""
import statistics


def ranks(values):
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def rank_correlation(right, found):
    return statistics.correlation(ranks(right), ranks(found))


def median_error(right, found):
    """in percent"""
    return 100 * statistics.median(abs(b / a - 1) for a, b in zip(right, found))
