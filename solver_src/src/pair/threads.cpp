// Work that is divided among threads.
#include "pair/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace gm {

namespace {

int usable_cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

void in_threads(int n, const Options& options, int threads, const std::function<void(int, const Options&)>& one) {
  std::atomic<int> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex lock;  // of failure and at_work
  std::condition_variable finished;
  int at_work = 0;
  const auto work = [&](const Options& own) {
    for (int k = next++; k < n && !stop; k = next++) {
      try {
        one(k, own);
      } catch (...) {
        const std::lock_guard<std::mutex> guard(lock);
        if (!failure) failure = std::current_exception();
        stop = true;
      }
    }
  };
  // The caller is asked in its own thread only; the others look at what it said.
  const GiveUp told = [&stop] { return stop.load(); };
  Options worker = options;
  worker.give_up = &told;
  const int n_threads = std::min(threads > 0 ? threads : usable_cores(), n);
  std::vector<std::thread> pool;
  pool.reserve(n_threads);
  try {
    for (int t = 1; t < n_threads; ++t) {
      pool.emplace_back([&] {
        work(worker);
        const std::lock_guard<std::mutex> guard(lock);
        --at_work;
        finished.notify_one();
      });
      const std::lock_guard<std::mutex> guard(lock);
      ++at_work;
    }
  } catch (const std::system_error&) {
    // No more threads are to be had: those that there are do the work.
  }
  work(options);
  {
    std::unique_lock<std::mutex> guard(lock);
    while (!finished.wait_for(guard, std::chrono::milliseconds(20), [&] { return at_work == 0; })) {
      guard.unlock();
      std::exception_ptr raised;  // not thrown from here: the threads must be joined
      try {
        if (!stop && options.give_up && (*options.give_up)()) raised = std::make_exception_ptr(Interrupted());
      } catch (...) {
        raised = std::current_exception();
      }
      guard.lock();
      if (!raised) continue;
      if (!failure) failure = raised;
      stop = true;
    }
  }
  for (std::thread& t : pool) t.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gm
