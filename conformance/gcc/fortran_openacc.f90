! Arrays, reductions and a routine, by GCC's OpenACC for Fortran.
program openacc_in_fortran
  use openacc
  implicit none
  integer, parameter :: count = 3000
  real(8) :: a(count), b(count), total
  integer :: matrix(40, 30), i, j
  logical :: on_host

  on_host = .true.
  !$acc parallel copyout(on_host)
  on_host = acc_on_device(acc_device_host)
  !$acc end parallel
  if (on_host) error stop "compute regions run on the host"

  do i = 1, count
    a(i) = i
  end do
  !$acc data copyin(a) copyout(b)
  !$acc parallel loop
  do i = 1, count
    b(i) = halved(a(i)) + 1
  end do
  total = 0
  !$acc parallel loop reduction(+:total)
  do i = 1, count
    total = total + b(i)
  end do
  !$acc end data
  if (any(b /= a / 2 + 1)) error stop "elements"
  if (total /= count * (count + 1d0) / 4 + count) error stop "sum"

  !$acc kernels copyout(matrix)
  !$acc loop independent collapse(2)
  do j = 1, 30
    do i = 1, 40
      matrix(i, j) = 100 * j + i
    end do
  end do
  !$acc end kernels
  do j = 1, 30
    do i = 1, 40
      if (matrix(i, j) /= 100 * j + i) error stop "matrix"
    end do
  end do
  print '(a)', "ok"
contains
  real(8) function halved(x)
    !$acc routine seq
    real(8), intent(in) :: x
    halved = x / 2
  end function
end program
