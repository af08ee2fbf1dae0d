#!/usr/bin/env python3
"""Writes test matrices as Matrix Market files: symmetric positive definite ones (coordinate real symmetric,
lower triangle), and one that is not symmetric (coordinate real general).

  make_matrices.py KIND SIZE FILE    one matrix
  make_matrices.py --all FOLDER      those of the repository: examples/data/*.mtx

Kinds, on a grid with zero boundary values:
  poisson2d   5-point Laplacian on SIZE x SIZE points
  poisson3d   7-point Laplacian on SIZE x SIZE x SIZE points
  diffusion   -div(k grad u) on SIZE x SIZE points, where k varies smoothly from 1 to 10 around a hard
              inclusion of 100; each face has the harmonic mean of its two cells (finite volumes)
  convection  -laplace u + v grad u + u / dt on SIZE x SIZE points of spacing h: v h = (2, 1),
              h^2 / dt = 0.5, upwind differences; not symmetric
"""
import math
import sys


def poisson(size, dimensions):
    """The Laplacian: 2 x dimensions on the diagonal, -1 for each neighbour. Yields (row, column, value)
    of the lower triangle."""
    strides = [size**d for d in range(dimensions)]
    for row in range(size**dimensions):
        for stride in reversed(strides):
            if row // stride % size > 0:
                yield row, row - stride, -1.0
        yield row, row, 2.0 * dimensions


def conductivity(x, y):
    if 0.3 < x < 0.45 and 0.5 < y < 0.8:
        return 100.0
    return 10.0 ** (0.5 + 0.25 * (math.sin(5.0 * x) + math.cos(7.0 * y)))


def diffusion(size):
    def k(i, j):
        return conductivity((i + 0.5) / size, (j + 0.5) / size)

    def face(a, b):
        return 2.0 * a * b / (a + b)

    for j in range(size):
        for i in range(size):
            here = k(i, j)
            # Beyond the border is the boundary value, half a cell away.
            faces = [face(here, k(i + di, j + dj)) if 0 <= i + di < size and 0 <= j + dj < size
                     else 2.0 * here
                     for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1))]
            row = j * size + i
            if j > 0:
                yield row, row - size, -faces[2]
            if i > 0:
                yield row, row - 1, -faces[0]
            yield row, row, sum(faces)


def convection(size):
    for row in range(size * size):
        i, j = row % size, row // size
        if j > 0:
            yield row, row - size, -2.0
        if i > 0:
            yield row, row - 1, -3.0
        yield row, row, 7.5
        if i + 1 < size:
            yield row, row + 1, -1.0
        if j + 1 < size:
            yield row, row + size, -1.0


KINDS = {"poisson2d": (lambda size: poisson(size, 2), 2), "poisson3d": (lambda size: poisson(size, 3), 3),
         "diffusion": (diffusion, 2), "convection": (convection, 2)}
REPOSITORY = [("poisson2d", 10), ("poisson2d", 32), ("poisson3d", 12), ("diffusion", 40),
              ("convection", 32)]


def write(kind, size, path):
    make, dimensions = KINDS[kind]
    entries = list(make(size))
    rows = size**dimensions
    with open(path, "w", encoding="ascii") as out:
        symmetry = "general" if kind == "convection" else "symmetric"
        out.write(f"%%MatrixMarket matrix coordinate real {symmetry}\n")
        points = " x ".join([str(size)] * dimensions)
        out.write(f"% {kind}, {points} points; examples/data/make_matrices.py\n")
        out.write(f"{rows} {rows} {len(entries)}\n")
        for row, column, value in entries:
            out.write(f"{row + 1} {column + 1} {value:.17g}\n")


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--all":
        for kind, size in REPOSITORY:
            write(kind, size, f"{arguments[1]}/{kind}_{size}.mtx")
        return 0
    if len(arguments) != 3 or arguments[0] not in KINDS or not arguments[1].isdigit() \
            or int(arguments[1]) < 1:
        print(__doc__, file=sys.stderr)
        return 2
    write(arguments[0], int(arguments[1]), arguments[2])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
