! Target regions with teams, mapped arrays and reductions, by GCC's OpenMP for Fortran.
program openmp_in_fortran
  use omp_lib
  implicit none
  integer, parameter :: count = 3000
  real :: x(count), y(count)
  integer :: i, sum
  logical :: on_host

  on_host = .true.
  !$omp target map(from: on_host)
  on_host = omp_is_initial_device()
  !$omp end target
  if (on_host) error stop "target regions run on the host"

  do i = 1, count
    x(i) = i
    y(i) = 1
  end do
  !$omp target data map(to: x) map(tofrom: y)
  !$omp target teams distribute parallel do
  do i = 1, count
    y(i) = y(i) + 2 * x(i)
  end do
  !$omp end target data
  if (any(y /= 1 + 2 * x)) error stop "elements"

  sum = 0
  !$omp target teams distribute parallel do reduction(+:sum) map(tofrom: sum)
  do i = 1, count
    sum = sum + i
  end do
  if (sum /= count * (count + 1) / 2) error stop "sum"
  print '(a)', "ok"
end program
