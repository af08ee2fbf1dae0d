// Functions that read files are cancellation points of POSIX threads. A barrier is not a cancellation point,
// but reads files in the middle of a wait. A thread that was cancelled there would leave the others waiting.
#ifndef FERMATA_OS_LINUX_UNCANCELLABLE_HPP
#define FERMATA_OS_LINUX_UNCANCELLABLE_HPP

#include <pthread.h>

namespace fermata::os {

class Uncancellable {
 public:
  Uncancellable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancellable() { pthread_setcancelstate(before_, nullptr); }
  Uncancellable(const Uncancellable&) = delete;
  Uncancellable& operator=(const Uncancellable&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace fermata::os
#endif
