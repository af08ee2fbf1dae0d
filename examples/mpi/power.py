"""The largest eigenvalue of a symmetric matrix by power iteration, rows cut among the ranks: power.py SIZE ITERATIONS. mpi4py, no NumPy."""
import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
size, iterations = int(sys.argv[1]), int(sys.argv[2])
first, last = size * rank // ranks, size * (rank + 1) // ranks
counts = [size * (r + 1) // ranks - size * r // ranks for r in range(ranks)]
places = [size * r // ranks for r in range(ranks)]
# Entries 1 / (1 + |i - j|), of a band.
rows = [[(j, 1.0 / (1 + abs(i - j))) for j in range(max(0, i - 4), min(size, i + 5))] for i in range(first, last)]
vector = array("d", [1.0]) * size
settings = comm.bcast({"shift": 0.5} if rank == 0 else None)  # a pickled object: bytes of a length that is broadcast first
square, total = array("d", [0.0]), array("d", [0.0])
comm.Barrier()
begin = MPI.Wtime()
for _ in range(iterations):
    mine = array("d", (sum(a * vector[j] for j, a in row) + settings["shift"] * vector[i] for i, row in enumerate(rows, first)))
    square[0] = sum(v * v for v in mine)
    comm.Allreduce([square, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)
    norm = total[0] ** 0.5
    for i, v in enumerate(mine):
        mine[i] = v / norm
    comm.Allgatherv([mine, MPI.DOUBLE], [vector, counts, places, MPI.DOUBLE])
took = MPI.Wtime() - begin
most = comm.allreduce(max(vector), op=MPI.MAX)
order = comm.gather(rank, root=0)
if rank == 0:
    print(f"{size} rows, {iterations} iterations, ranks {order}: eigenvalue {norm - settings['shift']:.9f}, largest entry {most:.9f}")
    print(f"seconds {took:.6f}")
