! The collectives as a Fortran program calls them: with its own types, in place, and non-blocking.
program usual
#ifdef MODERN
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm
  type(MPI_Request) :: request
#else
  use mpi
  implicit none
  integer :: comm, request
#endif
  integer :: rank, size, ierr, i, failures, total
  integer :: word
  integer, allocatable :: all(:)
  double precision :: x(1000), y(1000), pair(2), largest(2)
  complex :: c, csum
  logical :: l, every
  integer, asynchronous :: far(4)
  integer(kind=MPI_ADDRESS_KIND) :: places(1)
#ifdef MODERN
  type(MPI_Datatype) :: absolute
#else
  integer :: absolute
#endif
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  failures = 0
  total = size * (size + 1) / 2
  allocate (all(size))
  do i = 1, 1000
    x(i) = (rank + 1) * i
  end do
  call MPI_Allreduce(x, y, 1000, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
  if (any(y /= [(dble(total * i), i = 1, 1000)])) failures = failures + 1
  call MPI_Allreduce(MPI_IN_PLACE, x, 1000, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
  if (any(x /= y)) failures = failures + 1
  word = rank
  call MPI_Allreduce(MPI_IN_PLACE, word, 1, MPI_INTEGER, MPI_MAX, comm, ierr)
  if (word /= size - 1) failures = failures + 1
  c = cmplx(rank + 1, -rank)
  call MPI_Allreduce(c, csum, 1, MPI_COMPLEX, MPI_SUM, comm, ierr)
  if (csum /= cmplx(total, size - total)) failures = failures + 1
  l = rank >= 0
  call MPI_Allreduce(l, every, 1, MPI_LOGICAL, MPI_LAND, comm, ierr)
  if (.not. every) failures = failures + 1
  pair = [dble(mod(rank * 3, 5)), dble(rank)]
  call MPI_Allreduce(pair, largest, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, comm, ierr)
  if (largest(1) /= maxval([(dble(mod(i * 3, 5)), i = 0, size - 1)])) failures = failures + 1
  call MPI_Allgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, comm, ierr)
  if (any(all /= [(i, i = 0, size - 1)])) failures = failures + 1
  word = merge(42, 0, rank == 0)
  call MPI_Bcast(word, 1, MPI_INTEGER, 0, comm, ierr)
  if (word /= 42) failures = failures + 1
  call MPI_Iallreduce(rank, word, 1, MPI_INTEGER, MPI_SUM, comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  if (word /= total - size) failures = failures + 1
  call MPI_Get_address(far, places(1), ierr)
  call MPI_Type_create_hindexed(1, [4], places, MPI_INTEGER, absolute, ierr)
  call MPI_Type_commit(absolute, ierr)
  far = rank * 7 + 1
  call MPI_Bcast(MPI_BOTTOM, 1, absolute, size - 1, comm, ierr)
  if (any(far /= size * 7 - 6)) failures = failures + 1
  far = rank * 7 + 1
  call MPI_Ibcast(MPI_BOTTOM, 1, absolute, 0, comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  if (any(far /= 1)) failures = failures + 1
  call MPI_Type_free(absolute, ierr)
  call MPI_Barrier(comm, ierr)
  call MPI_Reduce(failures, word, 1, MPI_INTEGER, MPI_SUM, 0, comm, ierr)
  if (rank == 0) print '(a, i0, a)', 'usual: ', word, ' failures'
  call MPI_Comm_free(comm, ierr)
  if (rank == 0 .and. word /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Finalize(ierr)
end program usual
