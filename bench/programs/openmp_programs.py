"""openmp_programs.py NAME: computes with a package that uses OpenMP. Prints what it computes, rounded where
the order of additions depends on chance, and then `seconds N` for that."""
import sys
import time

import numpy


def data(rows, columns):
    random = numpy.random.default_rng(1)
    x = random.normal(size=(rows, columns))
    return x, x[:, 0] * 2 + numpy.sin(3 * x[:, 1]) + 0.1 * random.normal(size=rows)


def hist_gradient_boosting():
    from sklearn.ensemble import HistGradientBoostingRegressor
    x, y = data(20000, 10)
    HistGradientBoostingRegressor(max_iter=2).fit(x, y)
    begin = time.perf_counter()
    predicted = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(x, y).predict(x)
    return f"mean error {numpy.mean((predicted - y) ** 2):.6f}", begin


def kmeans():
    from sklearn.cluster import KMeans
    x, _ = data(20000, 8)
    KMeans(n_clusters=3, n_init=1, max_iter=2, random_state=0).fit(x)
    begin = time.perf_counter()
    found = KMeans(n_clusters=12, n_init=4, random_state=0).fit(x)
    return f"inertia {found.inertia_:.3f}", begin


def lightgbm():
    import lightgbm
    x, y = data(20000, 10)
    set_up = {"verbose": -1, "deterministic": True, "force_row_wise": True, "seed": 1}
    lightgbm.train(set_up, lightgbm.Dataset(x, y), num_boost_round=2)
    begin = time.perf_counter()
    model = lightgbm.train(set_up, lightgbm.Dataset(x, y), num_boost_round=150)
    return f"mean error {numpy.mean((model.predict(x) - y) ** 2):.5f}", begin


def solve(size, times):
    random = numpy.random.default_rng(1)
    a = random.normal(size=(size, size)) + size * numpy.eye(size)
    b = random.normal(size=(size, 8))
    numpy.linalg.solve(a, b)
    begin = time.perf_counter()
    found = [numpy.linalg.solve(a, b)[i % size, 0] for i in range(times)]
    return f"sum {sum(found)!r}", begin


def solve_100():
    return solve(100, 1000)


def solve_400():
    return solve(400, 100)


text, started = globals()[sys.argv[1]]()
took = time.perf_counter() - started
print(f"{sys.argv[1]}: {text}\nseconds {took:.6f}")
