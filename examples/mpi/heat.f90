! Heat in a rod by explicit steps, with the cells divided among the ranks: heat CELLS STEPS. Neighbours
! exchange borders. All ranks get each step's largest change, and at every tenth step the sum. MODERN: module
! mpi_f08, else mpi.
program heat
#ifdef MODERN
  use mpi_f08
  implicit none
  type(MPI_Request) :: request
#else
  use mpi
  implicit none
  integer :: request
#endif
  integer :: rank, ranks, ierr, cells, steps, first, last, n, i, step, left, right
  double precision, allocatable :: now(:), next(:)
  double precision :: change, largest, mine, total, begin, took
  character(len=32) :: argument
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, argument)
  read (argument, *) cells
  call get_command_argument(2, argument)
  read (argument, *) steps
  call MPI_Bcast(cells, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  first = cells * rank / ranks + 1
  last = cells * (rank + 1) / ranks
  n = last - first + 1
  left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
  allocate (now(0:n + 1), next(0:n + 1))
  now = 0
  next = 0
  do i = 1, n
    now(i) = merge(1d0, 0d0, mod(first + i, 7) < 3)
  end do
  total = 0
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  begin = MPI_Wtime()
  do step = 1, steps
    call MPI_Sendrecv(now(1), 1, MPI_DOUBLE_PRECISION, left, 1, now(n + 1), 1, MPI_DOUBLE_PRECISION, right, &
                      1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(now(n), 1, MPI_DOUBLE_PRECISION, right, 2, now(0), 1, MPI_DOUBLE_PRECISION, left, &
                      2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    change = 0
    do i = 1, n
      next(i) = now(i) + 0.25d0 * (now(i - 1) - 2 * now(i) + now(i + 1))
      change = max(change, abs(next(i) - now(i)))
    end do
    now(1:n) = next(1:n)
    call MPI_Iallreduce(change, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, request, ierr)
    mine = sum(now(1:n))
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    if (mod(step, 10) == 0) call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, &
                                               MPI_COMM_WORLD, ierr)
  end do
  took = MPI_Wtime() - begin
  if (rank == 0) print '(i0, a, i0, a, es16.9, a, f16.9)', cells, ' cells, ', steps, &
    ' steps: last change ', largest, ', heat ', total
  if (rank == 0) print '(a, f0.6)', 'seconds 0', took
  call MPI_Finalize(ierr)
end program heat
