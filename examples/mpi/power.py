"""The largest eigenvalue of a symmetric matrix by power iteration, with the rows divided among the ranks:
power.py SIZE ITERATIONS. Uses mpi4py without NumPy."""
import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
size, iterations = int(sys.argv[1]), int(sys.argv[2])
first, last = size * rank // ranks, size * (rank + 1) // ranks
counts = [size * (r + 1) // ranks - size * r // ranks for r in range(ranks)]
places = [size * r // ranks for r in range(ranks)]
# Entries 1 / (1 + |i - j|) within a band.
rows = [[(j, 1.0 / (1 + abs(i - j))) for j in range(max(0, i - 4), min(size, i + 5))]
        for i in range(first, last)]
vector = array("d", [1.0]) * size
# A pickled object: mpi4py first broadcasts the length of its bytes.
settings = comm.bcast({"shift": 0.5} if rank == 0 else None)
square, total = array("d", [0.0]), array("d", [0.0])
comm.Barrier()
begin = MPI.Wtime()
for _ in range(iterations):
    mine = array("d", (sum(a * vector[j] for j, a in row) + settings["shift"] * vector[i]
                       for i, row in enumerate(rows, first)))
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
    print(f"{size} rows, {iterations} iterations, ranks {order}: eigenvalue {norm - settings['shift']:.9f}, "
          f"largest entry {most:.9f}")
    print(f"seconds {took:.6f}")
